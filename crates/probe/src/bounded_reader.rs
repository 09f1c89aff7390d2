//! A bounded reader: it reads a file once, from the beginning, and not beyond a limit.

use std::io::{BufRead, BufReader, Read};

const BUFFER_BYTES: usize = 64 << 10;

/// The file is malformed and is refused. The cause is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(crate) type ReadResult<T> = std::result::Result<T, Malformed>;

#[derive(Debug)]
pub(crate) struct BoundedReader<R> {
    input: BufReader<R>,
    position: u64,
    limit: u64,
}

impl<R: Read> BoundedReader<R> {
    pub(crate) fn new(input: R, most: u64) -> Self {
        Self {
            input: BufReader::with_capacity(BUFFER_BYTES, input),
            position: 0,
            limit: most,
        }
    }

    /// How many bytes were read.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next bytes, as many as are buffered. Empty only at the end.
    pub(crate) fn peek(&mut self) -> ReadResult<&[u8]> {
        let left = self.limit.saturating_sub(self.position);
        let here = self.input.fill_buf().map_err(|_| Malformed)?;
        // A file that is longer than its limit is refused.
        if left == 0 && !here.is_empty() {
            return Err(Malformed);
        }
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        Ok(here.get(..left).unwrap_or(here))
    }

    pub(crate) fn consume(&mut self, read: usize) {
        self.input.consume(read);
        self.position += read as u64;
    }

    pub(crate) fn is_at_end(&mut self) -> ReadResult<bool> {
        Ok(self.peek()?.is_empty())
    }

    pub(crate) fn read_array<const N: usize>(&mut self) -> ReadResult<[u8; N]> {
        let mut bytes = [0; N];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let here = self.peek()?;
            let step = rest.len().min(here.len());
            match (rest.get_mut(..step), here.get(..step)) {
                (Some(to), Some(from)) if step > 0 => to.copy_from_slice(from),
                _ => return Err(Malformed),
            }
            self.consume(step);
            filled += step;
        }
        Ok(bytes)
    }

    pub(crate) fn skip(&mut self, length: u64) -> ReadResult<()> {
        let mut left = length;
        while left > 0 {
            let here = self.peek()?.len();
            if here == 0 {
                return Err(Malformed);
            }
            let step = usize::try_from(left).map_or(here, |left| left.min(here));
            self.consume(step);
            left -= step as u64;
        }
        Ok(())
    }

    pub(crate) fn skip_to_end(&mut self) -> ReadResult<()> {
        loop {
            match self.peek()?.len() {
                0 => return Ok(()),
                here => self.consume(here),
            }
        }
    }

    /// The whole file, for parsers that seek.
    pub(crate) fn read_to_end(mut self) -> ReadResult<Vec<u8>> {
        let mut whole = Vec::new();
        loop {
            let here = self.peek()?;
            if here.is_empty() {
                return Ok(whole);
            }
            whole.extend_from_slice(here);
            let read = here.len();
            self.consume(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BoundedReader, Malformed};

    #[test]
    fn nothing_is_read_beyond_the_limit() {
        assert_eq!(
            BoundedReader::new(&b"abcd"[..], 4).read_to_end(),
            Ok(b"abcd".to_vec())
        );
        assert_eq!(
            BoundedReader::new(&b"abcde"[..], 4).read_to_end(),
            Err(Malformed)
        );
        assert_eq!(
            BoundedReader::new(&b"abcde"[..], 4).skip_to_end(),
            Err(Malformed)
        );
        let mut source = BoundedReader::new(&b"abcde"[..], 4);
        assert_eq!(source.read_array::<4>(), Ok(*b"abcd"));
        assert_eq!(source.read_array::<1>(), Err(Malformed));
    }

    #[test]
    fn a_truncated_file_is_malformed() {
        assert_eq!(
            BoundedReader::new(&b"abc"[..], 9).read_array::<4>(),
            Err(Malformed)
        );
        assert_eq!(BoundedReader::new(&b"abc"[..], 9).skip(4), Err(Malformed));
        assert_eq!(BoundedReader::new(&b"abc"[..], 9).skip(3), Ok(()));
    }
}
