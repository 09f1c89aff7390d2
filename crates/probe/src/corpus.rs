//! Files that no reader must choke on: sound ones, broken ones and bombs, made here.
//!
//! Tests feed them to the library and to the child; fuzzing begins with them.
#![expect(
    clippy::indexing_slicing,
    reason = "what is cut here was made a line above"
)]

mod forms;
mod images;
mod iso;
mod matroska;
mod pdf;
mod text;

use domain::file::{Flaw, MediaType, Structure};

/// What must come of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Sound(Structure),
    Refused(Flaw),
    /// Any flaw of its kind.
    NeverSound,
    /// What readers may repair: this, or any flaw of its kind.
    Mended(Structure),
}

#[derive(Debug, Clone)]
pub struct Specimen {
    pub name: String,
    pub media_type: MediaType,
    pub bytes: Vec<u8>,
    pub fate: Fate,
}

impl Specimen {
    /// Whether that is what must come of it.
    pub fn allows(&self, found: Result<Structure, Flaw>) -> bool {
        match self.fate {
            Fate::Sound(structure) => found == Ok(structure),
            Fate::Refused(flaw) => found == Err(flaw),
            Fate::NeverSound => found.is_err(),
            Fate::Mended(structure) => found.is_err() || found == Ok(structure),
        }
    }
}

/// All of them, in no order that matters.
pub fn all() -> Vec<Specimen> {
    let mut all = Shelf(Vec::new());
    images::fill(&mut all);
    pdf::fill(&mut all);
    text::fill(&mut all);
    iso::fill(&mut all);
    matroska::fill(&mut all);
    all.0
}

/// So often a sound file is cut off.
const PLACES: usize = 12;

struct Shelf(Vec<Specimen>);

impl Shelf {
    fn put(&mut self, name: &str, media_type: MediaType, bytes: Vec<u8>, fate: Fate) {
        let name = format!("{} {name}", media_type.as_str());
        self.0.push(Specimen {
            name,
            media_type,
            bytes,
            fate,
        });
    }

    fn malformed(&mut self, name: &str, media_type: MediaType, bytes: Vec<u8>) {
        let flaw = media_type.kind().malformed();
        self.put(name, media_type, bytes, Fate::Refused(flaw));
    }

    /// A sound file, and what is left of it when it is cut off at so many places.
    fn cut(&mut self, media_type: MediaType, sound: &[u8], structure: Structure) {
        self.put("sound", media_type, sound.to_vec(), Fate::Sound(structure));
        for place in 0..PLACES {
            let length = sound.len() * place / PLACES;
            let name = format!("cut off after {length} bytes");
            self.malformed(&name, media_type, sound[..length].to_vec());
        }
        let name = "cut off before the last byte";
        self.malformed(name, media_type, sound[..sound.len() - 1].to_vec());
    }
}
