//! Prices, credit and what stands in an account.

use std::sync::Arc;

use domain::account::Account;
use domain::model::{Catalogue, Kind, Mocking, Model, Price, Prices};
use domain::money::Money;
use serde_json::{Value, json};
use store::shard::account;
use store::shard::credit::{self, Direction, Paid, Payment};

use crate::support::{Customer, Service};

/// Dollars for a million tokens: 100 nano-dollars for one that is read, 400 for one that is written.
pub(crate) const PRICE: Price = Price {
    input: Money(100_000_000),
    output: Money(400_000_000),
};

impl Service {
    /// A service whose catalogue also has what costs something.
    pub(crate) async fn with_prices() -> Self {
        let service = Self::new().await;
        service.sell(priced("priced", Kind::Chat, PRICE));
        service.sell(priced("priced-vectors", Kind::Embedding, PRICE));
        service.sell(Model {
            mocking: Mocking::Fail("the provider said no".to_owned()),
            ..priced("priced-failing", Kind::Chat, PRICE)
        });
        service
    }

    /// Adds a model to the catalogue, or changes it.
    pub(crate) fn sell(&self, model: Model) {
        self.catalogue.send_modify(|catalogue| {
            let models = catalogue.models().cloned().chain([model]);
            *catalogue = Arc::new(Catalogue::new(models));
        });
    }

    pub(crate) async fn add_credit(&self, customer: &Customer, amount: Money) {
        let payment = Payment {
            amount,
            direction: Direction::In,
            reference: None,
            note: None,
        };
        let paid = credit::pay(&self.north, customer.organization, &payment, self.now()).await;
        assert!(matches!(paid, Ok(Paid::Posted { .. })), "{paid:?}");
    }

    pub(crate) async fn limit_tokens(&self, customer: &Customer, monthly: u64) {
        let changed =
            account::set_monthly_tokens(&self.north, customer.organization, Some(monthly)).await;
        assert!(changed.unwrap());
    }

    pub(crate) async fn account(&self, customer: &Customer) -> Account {
        let account = account::find(&self.north, customer.organization).await;
        account.unwrap().unwrap()
    }

    /// What stands in the account, in one line.
    pub(crate) async fn books(&self, customer: &Customer) -> String {
        let account = self.account(customer).await;
        let tokens = account.tokens;
        format!(
            "posted {} held {} postings {} | {} used {} reserved {}",
            account.posted,
            account.held,
            account.postings,
            tokens.period,
            tokens.used,
            tokens.reserved
        )
    }
}

pub(crate) fn priced(id: &str, kind: Kind, batch: Price) -> Model {
    Model {
        prices: Some(Prices {
            batch,
            realtime: None,
        }),
        ..Model::plain(id, "mock", kind)
    }
}

/// A chat without a callback.
pub(crate) fn ask(model: &str, text: &str, max_tokens: u32) -> Value {
    json!({"params": {
        "model": model, "max_tokens": max_tokens,
        "messages": [{"role": "user", "content": text}],
    }})
}
