//! Whether a `[[model]]` can stand, and what is wrong with it.

use domain::model::{Capability, InputBounds, Kind, Mocking, Model, SVC_MOCK};

use crate::catalogue::entry::Entry;
use crate::catalogue::price;
use crate::catalogue::routes;
use crate::notes::Notes;
use crate::providers::{Accounts, MOCK};

/// More tokens than any model reads, and few enough that prices of them are numbers.
const MOST_TOKENS: i64 = 1_000_000_000;

impl Entry {
    /// Nothing when there is a fault; all of them are noted.
    pub(super) fn checked(&self, accounts: &Accounts, notes: &mut Notes<'_>) -> Option<Model> {
        let before = notes.count();
        self.check_id(notes);
        let kind = self.kind(notes);
        let capabilities = self.capabilities(notes);
        let routes = routes::checked(self, (kind, &capabilities), accounts, notes);
        let context = notes.whole("context", self.context, 1..=MOST_TOKENS);
        let most = notes.whole("limits.max_output", self.limits.max_output, 1..=MOST_TOKENS);
        // Of what kind a price is can only be said when the model is of one.
        let prices = match (&self.price, kind) {
            (Some(price), Some(kind)) => price::checked(price, kind, notes),
            _ => None,
        };
        let bounds = self.bounds(&capabilities, notes);
        self.check_svc_mock(kind, notes);
        let model = Model {
            routes: routes?,
            capabilities,
            context,
            max_output: most.and_then(|most| u32::try_from(most).ok()),
            prices,
            bounds,
            mocking: match &self.mock.fail {
                Some(text) => Mocking::Fail(text.clone()),
                None => Mocking::Echo,
            },
            ..Model::plain(&self.id, MOCK, kind?)
        };
        (notes.count() == before).then_some(model)
    }

    fn check_id(&self, notes: &mut Notes<'_>) {
        if routes::is_no_name(&self.id) {
            notes.fault("an id is 1 to 255 bytes without control characters");
        }
    }

    fn kind(&self, notes: &mut Notes<'_>) -> Option<Kind> {
        let kind = Kind::parse(&self.kind);
        if kind.is_none() {
            let text = format!("kind `{}` is neither chat nor embedding", self.kind);
            notes.fault(&text);
        }
        kind
    }

    fn capabilities(&self, notes: &mut Notes<'_>) -> Vec<Capability> {
        let mut capabilities = Vec::new();
        for word in &self.capabilities {
            match Capability::parse(word) {
                Some(capability) if capabilities.contains(&capability) => {}
                Some(capability) => capabilities.push(capability),
                None => {
                    let text = format!("capability `{word}` is none of vision, documents, video");
                    notes.fault(&text);
                }
            }
        }
        capabilities
    }

    /// Without its bound a file of a priced model could cost more than is held for it.
    fn bounds(&self, capabilities: &[Capability], notes: &mut Notes<'_>) -> InputBounds {
        let given = &self.bounds;
        let mut bound = |capability: Capability, field: &str, given: Option<i64>| {
            if given.is_none() && self.price.is_some() && capabilities.contains(&capability) {
                let has = capability.as_str();
                let text = format!("bounds.{field} is missing: the model has {has} and a price");
                notes.fault(&text);
            }
            let field = format!("bounds.{field}");
            let tokens = notes.whole(&field, given, 1..=MOST_TOKENS);
            tokens.unwrap_or_default()
        };
        InputBounds {
            image: bound(Capability::Vision, "image", given.image),
            page: bound(Capability::Documents, "page", given.page),
            video_second: bound(Capability::Video, "video_second", given.video_second),
        }
    }

    /// Callers are promised that svc-mock is a free chat model they can try at any time.
    fn check_svc_mock(&self, kind: Option<Kind>, notes: &mut Notes<'_>) {
        let as_promised = self.provider.as_deref() == Some(MOCK)
            && kind == Some(Kind::Chat)
            && self.price.is_none()
            && self.mock.fail.is_none();
        if self.id == SVC_MOCK && !as_promised {
            notes.fault("svc-mock is a free chat model of the mock provider that answers");
        }
    }
}
