//! A link that a page shows once, for the user to send.

#[derive(Debug)]
pub(crate) struct IssuedLink {
    /// Whom to send it to.
    pub(crate) email: String,
    pub(crate) url: String,
}
