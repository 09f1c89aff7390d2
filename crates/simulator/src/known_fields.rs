//! Fields that a provider does not know. All three refuse them.

use serde_json::Value;

/// The first field of an object that is not in the list.
pub fn unknown_field<'a>(object: &'a Value, known: &[&str]) -> Option<&'a str> {
    let fields = object.as_object()?;
    let mut names = fields.keys().map(String::as_str);
    names.find(|name| !known.contains(name))
}

/// The same for Google, which takes `camelCase` and `snake_case`.
pub fn unknown_google_field<'a>(object: &'a Value, known: &[&str]) -> Option<&'a str> {
    let fields = object.as_object()?;
    let mut names = fields.keys().map(String::as_str);
    names.find(|name| !known.contains(&camel_case(name).as_str()))
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut characters = word.chars();
        camel.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        camel.extend(characters);
    }
    camel
}
