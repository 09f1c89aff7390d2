//! `AssumeRoleWithWebIdentity` of STS: IAM roles for service accounts (IRSA) on EKS.

use bytes::Bytes;
use domain::session_credentials::SessionCredentials;
use http::{Method, Request};
use http_body_util::Full;

use super::answers::{parse_sts_code, parse_sts_credentials};
use super::failure::RoleCredentialFailure;
use super::{SourceHttpClient, WebIdentityRole, read_token};
use crate::percent_encoding::percent_encode;

pub(super) const NAME: &str = "STS";
const API_VERSION: &str = "2011-06-15";

impl SourceHttpClient {
    /// The request is not signed: the token proves who asks.
    pub(super) async fn assume_role(
        &self,
        role: &WebIdentityRole,
    ) -> Result<SessionCredentials, RoleCredentialFailure> {
        let token = read_token(&role.token_file).await?;
        let body = format!(
            "Action=AssumeRoleWithWebIdentity&Version={API_VERSION}&RoleArn={}&RoleSessionName={}\
             &WebIdentityToken={}",
            percent_encode(&role.role_arn),
            percent_encode(&role.session_name),
            percent_encode(&token),
        );
        let request = Request::builder()
            .method(Method::POST)
            .uri(role.sts_endpoint.as_str())
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(body)));
        let answer = self.exchange(NAME, request).await?;
        if !answer.status().is_success() {
            let code = parse_sts_code(answer.body());
            return Err(RoleCredentialFailure::refused(NAME, answer.status(), code));
        }
        parse_sts_credentials(answer.body()).ok_or(RoleCredentialFailure::Unreadable(NAME))
    }
}
