//! Prices, credit and account balances.

use std::sync::Arc;

use domain::account::Account;
use domain::model::{Catalogue, MockBehaviour, Model, ModelKind, Prices};
use domain::money::Money;
use domain::price::Price;
use serde_json::{Value, json};
use store::shard::account;
use store::shard::credit::{self, Payment, PaymentDirection, PaymentResult};

use crate::support::{Customer, TestService};

pub(crate) const ONE_DOLLAR: Money = Money(1_000_000_000);
/// Per million tokens. One input token costs 100 nano-dollars, one output token 400.
pub(crate) const PRICE: Price = Price::flat(Money(100_000_000), Money(400_000_000));

impl TestService {
    /// A service whose catalogue also has models with prices.
    pub(crate) async fn with_prices() -> Self {
        Self::new().await.priced()
    }

    /// The same service with models that have prices.
    pub(crate) fn priced(self) -> Self {
        let service = self;
        service.add_model(priced_model("priced", ModelKind::Chat, PRICE));
        service.add_model(priced_model("priced-vectors", ModelKind::Embedding, PRICE));
        service.add_model(Model {
            mock_behaviour: MockBehaviour::Fail("the provider said no".to_owned()),
            ..priced_model("priced-failing", ModelKind::Chat, PRICE)
        });
        service
    }

    /// Adds a model to the catalogue, or replaces it.
    pub(crate) fn add_model(&self, model: Model) {
        self.catalogue.send_modify(|catalogue| {
            let models = catalogue.models().cloned().chain([model]);
            *catalogue = Arc::new(Catalogue::new(models));
        });
    }

    pub(crate) async fn add_credit(&self, customer: &Customer, amount: Money) {
        let payment = Payment {
            amount,
            direction: PaymentDirection::In,
            reference: None,
            note: None,
        };
        let paid = credit::pay(&self.north, customer.organization, &payment, self.now()).await;
        assert!(matches!(paid, Ok(PaymentResult::Posted { .. })), "{paid:?}");
    }

    pub(crate) async fn set_monthly_tokens(&self, customer: &Customer, monthly: u64) {
        let changed =
            account::set_monthly_tokens(&self.north, customer.organization, Some(monthly)).await;
        assert!(changed.unwrap());
    }

    pub(crate) async fn read_account(&self, customer: &Customer) -> Account {
        let account = account::find(&self.north, customer.organization).await;
        account.unwrap().unwrap()
    }

    /// The account's balance and monthly tokens, in one line.
    pub(crate) async fn describe_account(&self, customer: &Customer) -> String {
        let account = self.read_account(customer).await;
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

pub(crate) fn priced_model(id: &str, kind: ModelKind, batch: Price) -> Model {
    Model {
        prices: Some(Prices {
            batch,
            realtime: None,
        }),
        ..Model::plain(id, "mock", kind)
    }
}

/// A chat without a callback.
pub(crate) fn model_chat_request(model: &str, text: &str, max_tokens: u32) -> Value {
    json!({"params": {
        "model": model, "max_tokens": max_tokens,
        "messages": [{"role": "user", "content": text}],
    }})
}

pub(crate) async fn tracked_cost(service: &TestService, customer: &Customer, cargo: &str) -> Value {
    service.track(customer, cargo).await["cost"].take()
}
