//! The whole body: `params`, `callback_url`, `metadata`.

use domain::callback::CallbackUrl;
use serde::de::{IgnoredAny, MapAccess};
use serde_json::value::RawValue;
use wire::detail::Step;

use super::params::Params;
use super::shape::{Bad, Given, OBJECT, OneOf, Read, Shape};
use super::values::Text;
use super::{Asked, Rules};
use crate::faults::Faults;

const METADATA_BYTES: usize = 4096;
const METADATA: Bad = Bad("too_long", "Input should be at most 4096 bytes of JSON");

#[derive(Debug)]
pub(super) struct Body<'f> {
    pub faults: &'f mut Faults,
    pub rules: &'f Rules,
}

impl<'de> Shape<'de> for Body<'_> {
    type Value = Asked;
    const WANTED: Bad = OBJECT;

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Given<Asked>, A::Error> {
        let Self { faults, rules } = self;
        let mut params = Given::Absent;
        let mut callback_url = Given::Absent;
        let mut metadata = None;
        while let Some(key) =
            object.next_key_seed(OneOf(&["params", "callback_url", "metadata"]))?
        {
            match key {
                Some("params") => {
                    params = faults.within(Step::Key("params"), |faults| {
                        object.next_value_seed(Read(Params { faults, rules }))
                    })?;
                }
                Some("callback_url") => callback_url = object.next_value_seed(Read(Text))?,
                Some("metadata") => metadata = Some(object.next_value::<&'de RawValue>()?),
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        let params = params.required(faults, "params");
        let callback_url = callback_url.optional(faults, "callback_url");
        let callback = callback_url.and_then(|url| match CallbackUrl::parse(&url, rules.schemes) {
            Ok(callback) => Some(callback),
            Err(refusal) => {
                faults.note_at("callback_url", "value_error", refusal.to_string());
                None
            }
        });
        let metadata = metadata
            .map_or(Given::Absent, tags)
            .optional(faults, "metadata");
        Ok(params
            .map(|params| Asked {
                params,
                callback,
                metadata,
            })
            .into())
    }
}

/// The text is kept as given: an order of keys or a long number may matter to the caller.
fn tags(metadata: &RawValue) -> Given<String> {
    let json = metadata.get();
    match json.as_bytes().first() {
        Some(b'{') if json.len() <= METADATA_BYTES => Given::Good(json.to_owned()),
        Some(b'{') => Given::Bad(METADATA),
        Some(b'n') => Given::Absent,
        _ => Given::Bad(OBJECT),
    }
}
