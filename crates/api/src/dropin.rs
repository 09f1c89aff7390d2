//! Drop-ins: routes in the formats of other providers. A batch there is a group here.
//!
//! The body of a batch is split into items while it arrives, and stored as a parcel. The unpacker
//! then loads the items, each with the checks of a single load.

pub(crate) mod anthropic;
pub(crate) mod batch_id;
pub(crate) mod conversion;
pub(crate) mod error_text;
pub(crate) mod funds;
pub(crate) mod item;
pub(crate) mod item_stream;
pub(crate) mod openai;
pub(crate) mod raw_fields;
pub(crate) mod repeats;
pub(crate) mod unpacker;
