//! Whether a `[[provider]]` can stand, and what is wrong with it.

use std::collections::BTreeMap;

use domain::money::Money;
use domain::nearest::nearest;
use url::Url;

use crate::notes::Notes;
use crate::providers::credential::{Credentials, Source};
use crate::providers::entry::{Entry, Factor};
use crate::providers::kind::Kind;
use crate::providers::limits::Limits;
use crate::providers::{Account, MOCK};

const LONGEST_NAME: usize = 63;
const MOST_WEIGHT: i64 = 1_000_000;
/// A batch that costs more than twice its realtime price is a slip of the decimal point.
const HIGHEST_FACTOR: Money = Money(2_000_000_000);

impl Entry {
    /// Nothing when there is a fault; all of them are noted.
    pub(super) fn checked(
        &self,
        shards: &[&str],
        credentials: Credentials<'_>,
        others: &BTreeMap<String, Account>,
        notes: &mut Notes<'_>,
    ) -> Option<Account> {
        let before = notes.count();
        self.check_name(notes);
        let kind = Kind::parse(&self.kind);
        if kind.is_none() {
            let words = Kind::words();
            notes.fault(&format!("kind `{}` is none of {words}", self.kind));
        }
        let weights = self.weights(shards, notes);
        let source = Source::checked(self, notes);
        let credential = source
            .as_ref()
            .and_then(|source| source.read(credentials, notes));
        // What else is right can only be said of a kind.
        let kind = kind?;
        let base = self.base(kind, notes);
        self.check_credential(kind, notes);
        let limits = Limits::checked(&self.limits, kind, notes);
        let divided = limits.divided(&weights, notes);
        let price_factor = self.factor(kind, notes);
        check_label(kind, &weights, notes);
        let account = Account {
            name: self.name.clone(),
            kind,
            base: base?,
            source,
            credential,
            weights,
            price_factor: price_factor?,
            limits,
            shares: divided,
        };
        check_workspace(&account, others, notes);
        (notes.count() == before).then_some(account)
    }

    fn check_name(&self, notes: &mut Notes<'_>) {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let name = &self.name;
        if !(1..=LONGEST_NAME).contains(&name.len()) || !name.bytes().all(allowed) {
            let text = format!("a name is 1 to {LONGEST_NAME} letters, digits, -, _ and .");
            notes.fault(&text);
        }
        if name == MOCK {
            notes.fault("this name is taken: mock is always there");
        }
    }

    /// An address may hold a password or a key, so a wrong one is not repeated.
    fn base(&self, kind: Kind, notes: &mut Notes<'_>) -> Option<Url> {
        let Some(text) = self.base_url.as_deref().or(kind.base()) else {
            notes.fault("base_url is missing: say where the server is, as http://host:8000/v1");
            return None;
        };
        let is_plain = |url: &Url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
                && url.fragment().is_none()
        };
        let Some(url) = Url::parse(text).ok().filter(is_plain) else {
            notes.fault("base_url is not http or https with a host, and no user or query");
            return None;
        };
        let path = url.path().trim_end_matches('/');
        let version = path.rsplit('/').next().unwrap_or_default();
        let is_version =
            version.starts_with('v') && version.contains(|it: char| it.is_ascii_digit());
        match (kind.base_has_version(), is_version) {
            (true, _) if path.is_empty() => {
                notes.fault("base_url ends in the version here, as clients write it: …/v1");
            }
            (false, true) => {
                notes.fault("base_url is without a version here, as clients write it");
            }
            _ => return Some(url),
        }
        None
    }

    fn check_credential(&self, kind: Kind, notes: &mut Notes<'_>) {
        let is_given = self.credential_env.is_some() || self.credential_file.is_some();
        if kind.needs_credential() && !is_given {
            notes.fault("credential_env or credential_file is missing");
        }
    }

    /// Without a table all shards are alike.
    fn weights(&self, shards: &[&str], notes: &mut Notes<'_>) -> BTreeMap<String, u64> {
        let Some(given) = &self.shards else {
            return shards.iter().map(|name| ((*name).to_owned(), 1)).collect();
        };
        if given.is_empty() {
            notes.fault("shards names none; leave it out for all alike");
        }
        let mut weights = BTreeMap::new();
        for (shard, weight) in given {
            if !shards.contains(&shard.as_str()) {
                let near = nearest(shard, shards.iter().copied());
                let hint = near.map_or_else(
                    || format!("there are {}", shards.join(", ")),
                    |near| format!("did you mean {near}?"),
                );
                notes.fault(&format!("there is no shard `{shard}`; {hint}"));
            }
            let field = format!("shards.{shard}");
            if let Some(weight) = notes.whole(&field, Some(*weight), 1..=MOST_WEIGHT) {
                weights.insert(shard.clone(), weight);
            }
        }
        weights
    }

    fn factor(&self, kind: Kind, notes: &mut Notes<'_>) -> Option<Money> {
        let text = match &self.price_factor {
            None => return Some(Money(kind.usual_price_factor())),
            Some(Factor::Text(text)) => text,
            Some(Factor::Bare(_)) => {
                notes.fault("price_factor stands in quotes, such as \"0.5\", so that it is exact");
                return None;
            }
        };
        let read: Option<Money> = text.parse().ok();
        let factor = read.filter(|it| (Money::ZERO..=HIGHEST_FACTOR).contains(it));
        if factor.is_none() {
            notes.fault("price_factor is not a number from 0 to 2 with at most nine decimals");
        }
        factor
    }
}

/// Whose jobs carry no label is looked for by moment and size alone. On two shards, either could
/// take the other's job for its own.
fn check_label(kind: Kind, weights: &BTreeMap<String, u64>, notes: &mut Notes<'_>) {
    if kind.is_labelled() || weights.len() == 1 {
        return;
    }
    let names: Vec<_> = weights.keys().map(String::as_str).collect();
    let kind = kind.as_str();
    let text = format!(
        "jobs of {kind} carry no label, so an account serves exactly one shard, and this one has \
         {}: make a workspace for each shard there and a [[provider]] for each workspace here, \
         with shards = {{ {} = 1 }} and so on",
        names.join(", "),
        names.first().unwrap_or(&"main"),
    );
    notes.fault(&text);
}

/// Two accounts with one credential are one workspace, however they are called.
fn check_workspace(account: &Account, others: &BTreeMap<String, Account>, notes: &mut Notes<'_>) {
    if account.kind.is_labelled() {
        return;
    }
    let is_same = |other: &&Account| {
        let credential = account.credential.is_some() && account.credential == other.credential;
        let source = account.source.is_some() && account.source == other.source;
        other.kind == account.kind && other.base == account.base && (credential || source)
    };
    if let Some(other) = others.values().find(is_same) {
        let text = format!(
            "has the credential of `{}`, and so its jobs; each shard needs a workspace of its own",
            other.name
        );
        notes.fault(&text);
    }
}
