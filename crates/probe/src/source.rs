//! The stream that a file comes in: it is read once, from its beginning, and not beyond its limit.

use std::io::{BufRead, BufReader, Read};

const BUFFER: usize = 64 << 10;

/// The bytes are not what they should be. Why is nobody's business: the file is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

pub(crate) type Result<T> = std::result::Result<T, Broken>;

#[derive(Debug)]
pub(crate) struct Source<R> {
    input: BufReader<R>,
    at: u64,
    most: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(input: R, most: u64) -> Self {
        Self {
            input: BufReader::with_capacity(BUFFER, input),
            at: 0,
            most,
        }
    }

    /// How many bytes were read.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// What comes next, as much of it as is here. Empty at the end, and only there.
    pub(crate) fn peek(&mut self) -> Result<&[u8]> {
        let left = self.most.saturating_sub(self.at);
        let here = self.input.fill_buf().map_err(|_| Broken)?;
        // A file that goes on beyond its limit is none.
        if left == 0 && !here.is_empty() {
            return Err(Broken);
        }
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        Ok(here.get(..left).unwrap_or(here))
    }

    pub(crate) fn take(&mut self, read: usize) {
        self.input.consume(read);
        self.at += read as u64;
    }

    pub(crate) fn is_at_end(&mut self) -> Result<bool> {
        Ok(self.peek()?.is_empty())
    }

    pub(crate) fn exactly<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let here = self.peek()?;
            let step = rest.len().min(here.len());
            match (rest.get_mut(..step), here.get(..step)) {
                (Some(to), Some(from)) if step > 0 => to.copy_from_slice(from),
                _ => return Err(Broken),
            }
            self.take(step);
            filled += step;
        }
        Ok(bytes)
    }

    pub(crate) fn skip(&mut self, length: u64) -> Result<()> {
        let mut left = length;
        while left > 0 {
            let here = self.peek()?.len();
            if here == 0 {
                return Err(Broken);
            }
            let step = usize::try_from(left).map_or(here, |left| left.min(here));
            self.take(step);
            left -= step as u64;
        }
        Ok(())
    }

    pub(crate) fn skip_to_the_end(&mut self) -> Result<()> {
        loop {
            match self.peek()?.len() {
                0 => return Ok(()),
                here => self.take(here),
            }
        }
    }

    /// All of it, for parsers that seek.
    pub(crate) fn whole(mut self) -> Result<Vec<u8>> {
        let mut whole = Vec::new();
        loop {
            let here = self.peek()?;
            if here.is_empty() {
                return Ok(whole);
            }
            whole.extend_from_slice(here);
            let read = here.len();
            self.take(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Broken, Source};

    #[test]
    fn nothing_is_read_beyond_the_limit() {
        assert_eq!(Source::new(&b"abcd"[..], 4).whole(), Ok(b"abcd".to_vec()));
        assert_eq!(Source::new(&b"abcde"[..], 4).whole(), Err(Broken));
        assert_eq!(Source::new(&b"abcde"[..], 4).skip_to_the_end(), Err(Broken));
        let mut source = Source::new(&b"abcde"[..], 4);
        assert_eq!(source.exactly::<4>(), Ok(*b"abcd"));
        assert_eq!(source.exactly::<1>(), Err(Broken));
    }

    #[test]
    fn what_is_cut_short_is_broken() {
        assert_eq!(Source::new(&b"abc"[..], 9).exactly::<4>(), Err(Broken));
        assert_eq!(Source::new(&b"abc"[..], 9).skip(4), Err(Broken));
        assert_eq!(Source::new(&b"abc"[..], 9).skip(3), Ok(()));
    }
}
