//! The EC2 instance metadata service, version 2: a token, the name of the role, its credentials.

use bytes::Bytes;
use domain::session_credentials::SessionCredentials;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use url::Url;

use super::SourceHttpClient;
use super::answers::{parse_json_code, parse_json_credentials};
use super::failure::RoleCredentialFailure;

pub(super) const NAME: &str = "the EC2 instance metadata service";
const TOKEN_PATH: &str = "latest/api/token";
const ROLES_PATH: &str = "latest/meta-data/iam/security-credentials/";
const TOKEN_LIFETIME_HEADER: &str = "x-aws-ec2-metadata-token-ttl-seconds";
/// The token is used for two requests only.
const TOKEN_LIFETIME_SECONDS: &str = "60";
const TOKEN_HEADER: &str = "x-aws-ec2-metadata-token";
const SUCCESS_CODE: &str = "Success";

/// Each request has one of two headers.
#[derive(Clone, Copy)]
enum MetadataHeader<'a> {
    TokenLifetime,
    Token(&'a str),
}

impl SourceHttpClient {
    pub(super) async fn fetch_from_instance(
        &self,
        endpoint: &Url,
    ) -> Result<SessionCredentials, RoleCredentialFailure> {
        let header = MetadataHeader::TokenLifetime;
        let token = self
            .request_metadata(endpoint, Method::PUT, TOKEN_PATH, header)
            .await?;
        let token = body_text(&token)?;
        let header = MetadataHeader::Token(&token);
        let roles = self
            .request_metadata(endpoint, Method::GET, ROLES_PATH, header)
            .await;
        let roles = match roles {
            Err(RoleCredentialFailure::Refused { status, .. })
                if status == StatusCode::NOT_FOUND.as_u16() =>
            {
                return Err(RoleCredentialFailure::NoRole);
            }
            other => body_text(&other?)?,
        };
        let role = roles.lines().next().map(str::trim).unwrap_or_default();
        if role.is_empty() {
            return Err(RoleCredentialFailure::NoRole);
        }
        let path = format!("{ROLES_PATH}{role}");
        let answer = self
            .request_metadata(endpoint, Method::GET, &path, header)
            .await?;
        match parse_json_code(answer.body()) {
            Some(code) if code != SUCCESS_CODE => {
                Err(RoleCredentialFailure::refused(NAME, answer.status(), code))
            }
            Some(_) | None => {
                parse_json_credentials(answer.body()).ok_or(RoleCredentialFailure::Unreadable(NAME))
            }
        }
    }

    async fn request_metadata(
        &self,
        endpoint: &Url,
        method: Method,
        path: &str,
        header: MetadataHeader<'_>,
    ) -> Result<Response<Bytes>, RoleCredentialFailure> {
        let (name, value) = match header {
            MetadataHeader::TokenLifetime => (TOKEN_LIFETIME_HEADER, TOKEN_LIFETIME_SECONDS),
            MetadataHeader::Token(token) => (TOKEN_HEADER, token),
        };
        let base = endpoint.as_str().trim_end_matches('/');
        let request = Request::builder()
            .method(method)
            .uri(format!("{base}/{path}"))
            .header(name, value)
            .body(Full::new(Bytes::new()));
        let answer = self.exchange(NAME, request).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let code = String::new();
        Err(RoleCredentialFailure::refused(NAME, answer.status(), code))
    }
}

fn body_text(answer: &Response<Bytes>) -> Result<String, RoleCredentialFailure> {
    let text = std::str::from_utf8(answer.body()).ok();
    let text = text.map(|text| text.trim().to_owned());
    text.ok_or(RoleCredentialFailure::Unreadable(NAME))
}
