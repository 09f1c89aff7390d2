//! Container credentials: the agent of ECS, and of EKS Pod Identity.

use bytes::Bytes;
use domain::session_credentials::SessionCredentials;
use http::{Method, Request};
use http_body_util::Full;

use super::answers::{parse_json_code, parse_json_credentials};
use super::failure::RoleCredentialFailure;
use super::{ContainerAuthorization, ContainerEndpoint, SourceHttpClient, read_token};

pub(super) const NAME: &str = "the agent for container credentials";

impl SourceHttpClient {
    pub(super) async fn fetch_from_agent(
        &self,
        endpoint: &ContainerEndpoint,
    ) -> Result<SessionCredentials, RoleCredentialFailure> {
        let token = match &endpoint.authorization {
            ContainerAuthorization::None => None,
            ContainerAuthorization::Token(token) => Some(token.clone()),
            ContainerAuthorization::File(path) => Some(read_token(path).await?),
        };
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(endpoint.url.as_str())
            .header("accept", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        let request = request.body(Full::new(Bytes::new()));
        let answer = self.exchange(NAME, request).await?;
        if !answer.status().is_success() {
            let code = parse_json_code(answer.body()).unwrap_or_default();
            return Err(RoleCredentialFailure::refused(NAME, answer.status(), code));
        }
        parse_json_credentials(answer.body()).ok_or(RoleCredentialFailure::Unreadable(NAME))
    }
}
