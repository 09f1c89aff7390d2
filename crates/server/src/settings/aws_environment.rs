//! The `AWS_…` variables that say which role a process has, as the SDKs of AWS read them.

use std::collections::BTreeMap;

use outbound::role_credentials::{
    ContainerAuthorization, ContainerEndpoint, RoleCredentialSource, WebIdentityRole,
};
use url::{Host, Url};

use crate::settings::choice::ObjectCredentials;
use crate::settings::table::SettingValues;

pub(super) const PREFIX: &str = "AWS_";

const DEFAULT_SESSION_NAME: &str = "longshore";
/// The address of the agent of ECS, and those of EKS Pod Identity.
const ECS_AGENT: &str = "http://169.254.170.2";
const AGENT_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];
const INSTANCE_METADATA: &str = "http://169.254.169.254";
const INSTANCE_METADATA_IPV6: &str = "http://[fd00:ec2::254]";

/// The name of a variable and what is wrong with it.
type VariableFault = (&'static str, &'static str);

/// What is wrong with the variables, if credentials come from them.
pub(super) fn check(
    values: &SettingValues,
    variables: &BTreeMap<String, String>,
) -> Option<VariableFault> {
    let is_used = values.objects_url.is_some();
    match values.objects_credentials {
        ObjectCredentials::Environment if is_used => {
            let lookup = |name: &str| variables.get(name).cloned();
            credential_source(lookup, &values.objects_region).err()
        }
        ObjectCredentials::Environment | ObjectCredentials::Static => None,
    }
}

/// The first source that the variables name: web identity, container credentials, and otherwise
/// the metadata of the instance. As in the SDKs, a source that fails is not replaced by the next.
pub(super) fn credential_source(
    lookup: impl Fn(&str) -> Option<String>,
    region: &str,
) -> Result<RoleCredentialSource, VariableFault> {
    let variable = |name: &str| {
        let value = lookup(name).map(|value| value.trim().to_owned());
        value.filter(|value| !value.is_empty())
    };
    if let Some(role) = web_identity(variable, region)? {
        return Ok(RoleCredentialSource::WebIdentity(role));
    }
    if let Some(endpoint) = container(variable)? {
        return Ok(RoleCredentialSource::Container(endpoint));
    }
    instance_metadata(variable).map(RoleCredentialSource::InstanceMetadata)
}

fn web_identity(
    variable: impl Fn(&str) -> Option<String>,
    region: &str,
) -> Result<Option<WebIdentityRole>, VariableFault> {
    let Some(token_file) = variable("AWS_WEB_IDENTITY_TOKEN_FILE") else {
        return Ok(None);
    };
    let role_arn = variable("AWS_ROLE_ARN").ok_or((
        "AWS_ROLE_ARN",
        "is not set, but AWS_WEB_IDENTITY_TOKEN_FILE is; set it to the role of this process",
    ))?;
    let region = variable("AWS_REGION")
        .or_else(|| variable("AWS_DEFAULT_REGION"))
        .unwrap_or_else(|| region.to_owned());
    let endpoint = variable("AWS_ENDPOINT_URL_STS").unwrap_or_else(|| regional_sts(&region));
    let sts_endpoint = http_url(&endpoint).ok_or((
        "AWS_ENDPOINT_URL_STS",
        "is not an http or https URL of STS, or AWS_REGION is not a region",
    ))?;
    let session_name = variable("AWS_ROLE_SESSION_NAME");
    Ok(Some(WebIdentityRole {
        sts_endpoint,
        role_arn,
        session_name: session_name.unwrap_or_else(|| DEFAULT_SESSION_NAME.to_owned()),
        token_file: token_file.into(),
    }))
}

fn regional_sts(region: &str) -> String {
    let domain = if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else {
        "amazonaws.com"
    };
    format!("https://sts.{region}.{domain}/")
}

fn container(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<ContainerEndpoint>, VariableFault> {
    let url = if let Some(path) = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
        let url = http_url(&format!("{ECS_AGENT}{path}")).filter(|_| path.starts_with('/'));
        url.ok_or((
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "is not a path that begins with /",
        ))?
    } else if let Some(url) = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
        http_url(&url).filter(is_safe_agent).ok_or((
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "is not an https URL, or an http URL of this host or of the agents of ECS and EKS",
        ))?
    } else {
        return Ok(None);
    };
    let file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    let authorization = match (file, variable("AWS_CONTAINER_AUTHORIZATION_TOKEN")) {
        (Some(file), _) => ContainerAuthorization::File(file.into()),
        (None, Some(token)) => ContainerAuthorization::Token(token),
        (None, None) => ContainerAuthorization::None,
    };
    Ok(Some(ContainerEndpoint { url, authorization }))
}

/// Over plain http, the token and the keys must not leave this host.
fn is_safe_agent(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let is_agent = url
        .host_str()
        .is_some_and(|host| AGENT_HOSTS.contains(&host));
    url.scheme() == "https" || is_loopback || is_agent
}

fn instance_metadata(variable: impl Fn(&str) -> Option<String>) -> Result<Url, VariableFault> {
    let is_disabled = variable("AWS_EC2_METADATA_DISABLED");
    if is_disabled.is_some_and(|word| word.eq_ignore_ascii_case("true")) {
        return Err((
            "SVC_OBJECTS_CREDENTIALS",
            "is environment, but no variable names a role (AWS_WEB_IDENTITY_TOKEN_FILE or \
             AWS_CONTAINER_CREDENTIALS_FULL_URI), and AWS_EC2_METADATA_DISABLED is true",
        ));
    }
    let mode = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    let default = if mode.is_some_and(|mode| mode.eq_ignore_ascii_case("ipv6")) {
        INSTANCE_METADATA_IPV6
    } else {
        INSTANCE_METADATA
    };
    let endpoint = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    let endpoint = endpoint.unwrap_or_else(|| default.to_owned());
    http_url(&endpoint).ok_or((
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "is not an http or https URL",
    ))
}

fn http_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https");
    (is_http && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(variables: &[(&str, &str)]) -> Result<RoleCredentialSource, VariableFault> {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(given, _)| *given == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        credential_source(lookup, "eu-west-1")
    }

    const TOKEN_FILE: (&str, &str) = ("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token");
    const ROLE: (&str, &str) = ("AWS_ROLE_ARN", "arn:aws:iam::1:role/longshore");
    const AGENT: (&str, &str) = (
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "http://169.254.170.23/v1/credentials",
    );

    #[test]
    fn the_first_source_that_is_named_is_used() {
        let RoleCredentialSource::WebIdentity(role) = source(&[AGENT, TOKEN_FILE, ROLE]).unwrap()
        else {
            unreachable!("web identity comes first");
        };
        let endpoint = role.sts_endpoint.as_str();
        assert_eq!(endpoint, "https://sts.eu-west-1.amazonaws.com/");
        assert_eq!(role.session_name, "longshore");
        let agent = source(&[AGENT]).unwrap();
        assert!(matches!(agent, RoleCredentialSource::Container(_)));
        let RoleCredentialSource::InstanceMetadata(url) = source(&[]).unwrap() else {
            unreachable!("no variable names a role");
        };
        assert_eq!(url.as_str(), "http://169.254.169.254/");
    }

    #[test]
    fn variables_choose_the_endpoint_of_sts() {
        let endpoint = |variable| match source(&[TOKEN_FILE, ROLE, variable]).unwrap() {
            RoleCredentialSource::WebIdentity(role) => role.sts_endpoint.to_string(),
            RoleCredentialSource::Container(_) | RoleCredentialSource::InstanceMetadata(_) => {
                String::new()
            }
        };
        let china = endpoint(("AWS_REGION", "cn-north-1"));
        assert_eq!(china, "https://sts.cn-north-1.amazonaws.com.cn/");
        let own = endpoint(("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9"));
        assert_eq!(own, "http://127.0.0.1:9/");
    }

    #[test]
    fn an_agent_is_near_or_encrypted() {
        let name = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
        for good in [
            "http://127.0.0.1:8080/a",
            "http://[::1]/a",
            "http://localhost/a",
            "http://169.254.170.2/a",
            "http://[fd00:ec2::23]/v1/credentials",
            "https://agent.example/a",
        ] {
            assert!(source(&[(name, good)]).is_ok(), "{good}");
        }
        for bad in [
            "http://agent.example/a",
            "http://10.0.0.1/",
            "ftp://localhost/",
            "x",
        ] {
            assert_eq!(source(&[(name, bad)]).unwrap_err().0, name, "{bad}");
        }
        let relative = (
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "/v2/credentials/1",
        );
        let RoleCredentialSource::Container(agent) = source(&[relative]).unwrap() else {
            unreachable!("the variable names an agent");
        };
        assert_eq!(agent.url.as_str(), "http://169.254.170.2/v2/credentials/1");
        let elsewhere = (relative.0, "@agent.example/");
        assert_eq!(source(&[elsewhere]).unwrap_err().0, relative.0);
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(source(&[TOKEN_FILE]).unwrap_err().0, "AWS_ROLE_ARN");
        let disabled = source(&[("AWS_EC2_METADATA_DISABLED", "true")]);
        assert_eq!(disabled.unwrap_err().0, "SVC_OBJECTS_CREDENTIALS");
    }
}
