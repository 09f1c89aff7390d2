//! Takes the known fields out of a JSON object. What is left is refused by its name.

use serde_json::{Map, Value};

use super::fault::RequestFault;

/// The fields of an object that are not read yet. A field with `null` is absent: clients write
/// fields that they do not set.
#[derive(Debug)]
pub(super) struct Fields {
    /// The path of the object; empty for the body.
    place: String,
    values: Map<String, Value>,
}

impl Fields {
    pub(super) const fn of_body(values: Map<String, Value>) -> Self {
        Self {
            place: String::new(),
            values,
        }
    }

    pub(super) fn of(value: Value, place: String) -> Result<Self, RequestFault> {
        match value {
            Value::Object(values) => Ok(Self { place, values }),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(RequestFault::wrong_type(&place, "an object")),
        }
    }

    /// The path of a field.
    pub(super) fn path(&self, name: &str) -> String {
        if self.place.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.place)
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn require(&mut self, name: &str) -> Result<Value, RequestFault> {
        let found = self.take(name);
        found.ok_or_else(|| RequestFault::missing(&self.path(name)))
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, RequestFault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_),
            ) => Err(RequestFault::wrong_type(&self.path(name), "a string")),
        }
    }

    pub(super) fn required_text(&mut self, name: &str) -> Result<String, RequestFault> {
        let text = self.text(name)?;
        text.ok_or_else(|| RequestFault::missing(&self.path(name)))
    }

    pub(super) fn boolean(&mut self, name: &str) -> Result<Option<bool>, RequestFault> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let value = value.as_bool();
        let fault = || RequestFault::wrong_type(&self.path(name), "true or false");
        value.ok_or_else(fault).map(Some)
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, RequestFault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Object(_),
            ) => Err(RequestFault::wrong_type(&self.path(name), "an array")),
        }
    }

    /// The fields of an object in this one.
    pub(super) fn object(&mut self, name: &str) -> Result<Option<Self>, RequestFault> {
        let path = self.path(name);
        let object = self.take(name).map(|value| Self::of(value, path));
        object.transpose()
    }

    /// Reads fields that change no answer, so that they are not refused.
    pub(super) fn accept(&mut self, names: &[&str]) {
        for name in names {
            self.values.remove(*name);
        }
    }

    /// Reads a field whose only accepted values ask for what happens anyway.
    pub(super) fn accept_only(
        &mut self,
        name: &str,
        accepted: &[Value],
        advice: &str,
    ) -> Result<(), RequestFault> {
        match self.take(name) {
            Some(value) if !accepted.contains(&value) => {
                Err(RequestFault::unsupported_value(&self.path(name), advice))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses fields that have another way to say the same, with that way.
    pub(super) fn refuse(&mut self, names: &[&str], advice: &str) -> Result<(), RequestFault> {
        for name in names {
            if self.take(name).is_some() {
                return Err(RequestFault::unsupported(&self.path(name), advice));
            }
        }
        Ok(())
    }

    /// Refuses the first field that is left.
    pub(super) fn finish(self) -> Result<(), RequestFault> {
        let left = self.values.iter().find(|(_, value)| !value.is_null());
        match left {
            None => Ok(()),
            Some((name, _)) => {
                let advice = "Longshore has no such parameter. Leave it out.";
                Err(RequestFault::unsupported(&self.path(name), advice))
            }
        }
    }

    /// All fields that are left, for an object that is passed on as it is.
    pub(super) fn into_values(self) -> Map<String, Value> {
        self.values
    }
}

/// An object with the fields that have a value, in this order.
pub(super) fn present_fields<const N: usize>(
    fields: [(&str, Option<Value>); N],
) -> Map<String, Value> {
    let present = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    present.collect()
}
