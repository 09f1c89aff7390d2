//! Asks self-hosted servers whether they can do what the catalogue says. Without the right options, a
//! server answers a call of a tool with plain text.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::error_chain;
use domain::features::{StructuredOutput, ToolSupport};
use domain::model::{Catalogue, ModelKind};
use outbound::provider::client::ProviderTimeouts;
use outbound::provider::realtime::ProbedFeatures;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::providers::ProviderAccounts;
use crate::providers::kind::ProviderKind;

/// How long to wait before a server is asked again that did not answer.
const RETRY_INTERVAL: Duration = Duration::from_mins(5);

/// What to do when a server did not call a tool.
pub const TOOLS_FIX: &str = "start vLLM with --enable-auto-tool-choice and --tool-call-parser, SGLang with \
                             --tool-call-parser, llama.cpp with --jinja; or set tools = \"none\"";

/// What to do when an answer did not follow its schema.
pub const SCHEMAS_FIX: &str = "enable structured outputs: --structured-outputs-config of vLLM, \
                               --grammar-backend of SGLang, a current llama.cpp; or set \
                               structured_output = \"none\"";

/// What the catalogue says about a model of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ServerClaim {
    provider: String,
    upstream: String,
    tools: bool,
    schemas: bool,
}

/// Probes each model once, and again when the catalogue says something else about it.
pub async fn run(
    mut catalogue: watch::Receiver<Arc<Catalogue>>,
    accounts: ProviderAccounts,
    stop: CancellationToken,
) {
    let mut answered = BTreeSet::new();
    loop {
        let current = catalogue.borrow_and_update().clone();
        let mut open = list_claims(&current, &accounts);
        open.retain(|claim| !answered.contains(claim));
        let mut is_complete = true;
        for claim in open {
            let Some(probed) = stop.run_until_cancelled(probe(&claim, &accounts)).await else {
                return;
            };
            match probed {
                Ok(features) => {
                    report(&claim, features);
                    answered.insert(claim);
                }
                Err(why) => {
                    is_complete = false;
                    tracing::warn!(
                        provider = claim.provider,
                        model = claim.upstream,
                        error = why,
                        "server not probed for tools and schemas: it did not answer; retrying"
                    );
                }
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = catalogue.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = tokio::time::sleep(RETRY_INTERVAL), if !is_complete => {}
        }
    }
}

/// The models of servers for which the catalogue says that they have tools or schemas.
fn list_claims(catalogue: &Catalogue, accounts: &ProviderAccounts) -> BTreeSet<ServerClaim> {
    let is_server = |provider: &str| {
        let account = accounts.find(provider);
        account.is_some_and(|account| account.kind == ProviderKind::Server)
    };
    let chats = catalogue.models().filter(|it| it.kind == ModelKind::Chat);
    let routes = chats.flat_map(|model| model.routes.iter());
    let claims = routes.filter(|it| is_server(&it.provider)).map(|route| {
        let features = &route.features;
        ServerClaim {
            provider: route.provider.clone(),
            upstream: route.upstream_model.clone(),
            tools: features.tools != ToolSupport::None,
            schemas: features.structured_output != StructuredOutput::None,
        }
    });
    claims
        .filter(|claim| claim.tools || claim.schemas)
        .collect()
}

async fn probe(claim: &ServerClaim, accounts: &ProviderAccounts) -> Result<ProbedFeatures, String> {
    let account = accounts.find(&claim.provider);
    let server = account.map(|account| account.server(ProviderTimeouts::default()));
    let server = server
        .transpose()
        .map_err(|failure| error_chain::chain(&failure))?;
    let Some(server) = server.flatten() else {
        return Err("the account is no server".to_owned());
    };
    let probed = server.probe_features(&claim.upstream).await;
    probed.map_err(|failure| failure.diagnosis())
}

fn report(claim: &ServerClaim, probed: ProbedFeatures) {
    let (provider, model) = (&claim.provider, &claim.upstream);
    for fix in missing_features(claim, probed) {
        tracing::warn!(
            provider,
            model,
            fix,
            "the server cannot do what the catalogue says: requests that use it will fail"
        );
    }
}

/// What to do about each feature that the server did not show.
fn missing_features(claim: &ServerClaim, probed: ProbedFeatures) -> Vec<&'static str> {
    let tools = (claim.tools && !probed.tools).then_some(TOOLS_FIX);
    let schemas = (claim.schemas && !probed.schemas).then_some(SCHEMAS_FIX);
    tools.into_iter().chain(schemas).collect()
}

#[cfg(test)]
mod tests {
    use domain::model::Model;
    use domain::route::{InferenceMode, Route, Routes};

    use super::*;
    use crate::providers::tests::accounts;

    fn model(id: &str, provider: &str, tools: ToolSupport, output: StructuredOutput) -> Model {
        let mut route = Route::plain(provider, "theirs", InferenceMode::Realtime);
        route.features.tools = tools;
        route.features.structured_output = output;
        Model {
            routes: Routes::from(route),
            ..Model::plain(id, provider, ModelKind::Chat)
        }
    }

    #[test]
    fn only_claims_about_servers_are_probed() {
        let accounts = accounts(
            r#"provider = [
                { name = "openai", kind = "openai", credential_env = "OPENAI_API_KEY" },
                { name = "vllm", kind = "server", base_url = "http://localhost:8000/v1" },
                { name = "plain", kind = "server", base_url = "http://localhost:8001/v1" },
            ]"#,
        );
        let (tools, schemas) = (ToolSupport::Parallel, StructuredOutput::WithTools);
        let catalogue = Catalogue::new([
            model("a", "openai", tools, schemas),
            model("b", "vllm", tools, StructuredOutput::None),
            model("c", "vllm", tools, StructuredOutput::None),
            model("d", "plain", ToolSupport::None, StructuredOutput::None),
        ]);
        let claims = list_claims(&catalogue, &accounts);
        let expected = ServerClaim {
            provider: "vllm".to_owned(),
            upstream: "theirs".to_owned(),
            tools: true,
            schemas: false,
        };
        assert_eq!(claims, BTreeSet::from([expected]));
    }

    #[test]
    fn a_missing_feature_says_how_to_start_the_server() {
        let claim = |tools, schemas| ServerClaim {
            provider: "vllm".to_owned(),
            upstream: "theirs".to_owned(),
            tools,
            schemas,
        };
        let none = ProbedFeatures {
            tools: false,
            schemas: false,
        };
        let all = ProbedFeatures {
            tools: true,
            schemas: true,
        };
        assert_eq!(missing_features(&claim(true, true), all), [""; 0]);
        assert_eq!(missing_features(&claim(false, false), none), [""; 0]);
        let both = missing_features(&claim(true, true), none);
        assert_eq!(both, [TOOLS_FIX, SCHEMAS_FIX]);
        insta::assert_snapshot!(both.join("\n"), @r#"
        start vLLM with --enable-auto-tool-choice and --tool-call-parser, SGLang with --tool-call-parser, llama.cpp with --jinja; or set tools = "none"
        enable structured outputs: --structured-outputs-config of vLLM, --grammar-backend of SGLang, a current llama.cpp; or set structured_output = "none"
        "#);
    }
}
