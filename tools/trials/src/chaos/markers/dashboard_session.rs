//! A member of the first organization who is signed in to the dashboard.

use hyper::Request;
use hyper::header::{CONTENT_TYPE, COOKIE, HeaderValue, SET_COOKIE};

use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::http::http_client::HttpResponse;
use crate::harness::http::service_client::ServiceClient;
use crate::harness::http::{load_request, string_field};
use crate::harness::longshored::org_setup;

const EMAIL: &str = "reader@people.example";
const PASSWORD: &str = "seven-grey-seagulls";

#[derive(Debug)]
pub(super) struct DashboardSession {
    client: ServiceClient,
    cookie: HeaderValue,
}

impl DashboardSession {
    /// Creates the person, who signs in with the link of the admin command.
    pub(super) async fn start(environment: &TrialEnvironment) -> Result<Self> {
        let organization = &environment.first_organization()?.id;
        let verb = [
            "person",
            "create",
            EMAIL,
            "--name",
            "Reader",
            "--organization",
            organization,
            "--role",
            "owner",
        ];
        let person = org_setup::run_admin_command(&environment.longshored, &verb).await?;
        let link = string_field(&person, "link")?;
        let (_, pass) = link.split_once("pass=").context("a link has no token")?;
        let form = format!("pass={pass}&password={PASSWORD}");
        let request = Request::post("/dashboard/reset")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form.into());
        let client = ServiceClient::new(environment.server()?.address());
        let signed_in = client.send(request.context("building a request")?).await;
        let signed_in = signed_in.context("signing in")?;
        let cookies = signed_in.headers.get_all(SET_COOKIE).iter();
        let cookies = cookies.filter_map(|it| it.to_str().ok()?.split(';').next());
        let cookie = cookies.collect::<Vec<_>>().join("; ");
        if signed_in.status != 303 || cookie.is_empty() {
            let text = format!("signing in: {} {}", signed_in.status, signed_in.text());
            return Err(TrialFailure::new(text));
        }
        let cookie = HeaderValue::from_str(&cookie).context("reading a cookie")?;
        Ok(Self { client, cookie })
    }

    pub(super) async fn get(&self, path: &str) -> Result<HttpResponse> {
        let mut request = load_request::get_without_key(path);
        request.headers_mut().insert(COOKIE, self.cookie.clone());
        let answered = self.client.send_repeatedly(request).await;
        answered.context(path)
    }
}
