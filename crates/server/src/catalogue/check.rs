//! Validation of a `[[model]]` entry.

use chrono::NaiveDate;
use domain::model::{Capability, InputBounds, MockBehaviour, Model, ModelKind, SVC_MOCK};
use domain::provider_options::AllowedOptions;
use domain::route::Routes;

use crate::catalogue::entry::ModelEntry;
use crate::catalogue::price;
use crate::catalogue::routes;
use crate::entry_errors::EntryErrors;
use crate::providers::{MOCK, ProviderAccounts};

/// More tokens than any model reads, and few enough that prices do not overflow.
const MAX_TOKENS: i64 = 1_000_000_000;

impl ModelEntry {
    /// None when something is wrong; all errors are collected.
    pub(super) fn validate(
        &self,
        accounts: &ProviderAccounts,
        errors: &mut EntryErrors<'_>,
    ) -> Option<Model> {
        let before = errors.count();
        self.check_id(errors);
        let kind = self.kind(errors);
        let capabilities = self.capabilities(errors);
        let routes = routes::validate(self, kind, &capabilities, accounts, errors);
        let context = errors.whole_number("context", self.context, 1..=MAX_TOKENS);
        let most = errors.whole_number("limits.max_output", self.limits.max_output, 1..=MAX_TOKENS);
        // A price depends on the model's kind.
        let prices = match (&self.price, kind) {
            (Some(price), Some(kind)) => price::validate(price, kind, errors),
            _ => None,
        };
        let bounds = self.bounds(&capabilities, errors);
        let retires_at = self.retires_at(errors);
        self.check_svc_mock(kind, errors);
        let routes = routes?;
        let model = Model {
            features: routes.common_features(),
            allowed_options: allowed_options(&routes, accounts),
            retires_at,
            routes,
            capabilities,
            context,
            max_output: most.and_then(|most| u32::try_from(most).ok()),
            prices,
            bounds,
            mock_behaviour: match &self.mock.fail {
                Some(text) => MockBehaviour::Fail(text.clone()),
                None => MockBehaviour::Echo,
            },
            ..Model::plain(&self.id, MOCK, kind?)
        };
        (errors.count() == before).then_some(model)
    }

    fn retires_at(&self, errors: &mut EntryErrors<'_>) -> Option<NaiveDate> {
        let text = self.retires_at.as_ref()?;
        let date = text.parse().ok();
        if date.is_none() {
            errors.add(&format!(
                "retires_at `{text}` is not a date such as 2027-01-14"
            ));
        }
        date
    }

    fn check_id(&self, errors: &mut EntryErrors<'_>) {
        if routes::is_invalid_name(&self.id) {
            errors.add("an id must be 1 to 255 bytes without control characters");
        }
    }

    fn kind(&self, errors: &mut EntryErrors<'_>) -> Option<ModelKind> {
        let kind = ModelKind::parse(&self.kind);
        if kind.is_none() {
            let text = format!("kind `{}` is neither chat nor embedding", self.kind);
            errors.add(&text);
        }
        kind
    }

    fn capabilities(&self, errors: &mut EntryErrors<'_>) -> Vec<Capability> {
        let mut capabilities = Vec::new();
        for word in &self.capabilities {
            match Capability::parse(word) {
                Some(capability) if capabilities.contains(&capability) => {}
                Some(capability) => capabilities.push(capability),
                None => {
                    let text = format!("capability `{word}` is none of vision, documents, video");
                    errors.add(&text);
                }
            }
        }
        capabilities
    }

    /// A priced model needs these bounds: otherwise a file could cost more than its hold.
    fn bounds(&self, capabilities: &[Capability], errors: &mut EntryErrors<'_>) -> InputBounds {
        let given = &self.bounds;
        let mut bound = |capability: Capability, field: &str, tokens: Option<i64>| {
            if tokens.is_none() && self.price.is_some() && capabilities.contains(&capability) {
                let has = capability.as_str();
                let text =
                    format!("bounds.{field} is missing: a model with {has} and a price needs it");
                errors.add(&text);
            }
            let field = format!("bounds.{field}");
            let tokens = errors.whole_number(&field, tokens, 1..=MAX_TOKENS);
            tokens.unwrap_or_default()
        };
        InputBounds {
            image: bound(Capability::Vision, "image", given.image),
            page: bound(Capability::Documents, "page", given.page),
            video_second: bound(Capability::Video, "video_second", given.video_second),
        }
    }

    /// The contract promises that svc-mock is a free chat model which always answers.
    fn check_svc_mock(&self, kind: Option<ModelKind>, errors: &mut EntryErrors<'_>) {
        let as_promised = self.provider.as_deref() == Some(MOCK)
            && kind == Some(ModelKind::Chat)
            && self.price.is_none()
            && self.mock.fail.is_none();
        if self.id == SVC_MOCK && !as_promised {
            errors
                .add("svc-mock must be a free chat model of the mock provider, without mock.fail");
        }
    }
}

/// The options that all accounts of a kind allow: a cargo may go to any of them.
fn allowed_options(routes: &Routes, accounts: &ProviderAccounts) -> AllowedOptions {
    let mut allowed = AllowedOptions::new();
    for account in routes.iter().filter_map(|it| accounts.find(&it.provider)) {
        let options = &account.provider_options;
        match allowed.get_mut(account.kind.as_str()) {
            Some(common) => common.retain(|key| options.contains(key)),
            None => {
                allowed.insert(account.kind.as_str().to_owned(), options.clone());
            }
        }
    }
    allowed
}
