//! Parses the answers of the sources: XML from STS, JSON from agents and instances.

use domain::session_credentials::SessionCredentials;
use roxmltree::{Document, Node};
use serde::Deserialize;

/// The credentials of an ECS or EKS agent, or of an EC2 instance.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CredentialsDocument {
    access_key_id: String,
    secret_access_key: String,
    token: String,
    expiration: String,
}

/// Agents write `code`, instances `Code`.
#[derive(Deserialize)]
struct ErrorDocument {
    #[serde(alias = "Code")]
    code: String,
}

pub(super) fn parse_json_credentials(body: &[u8]) -> Option<SessionCredentials> {
    let document: CredentialsDocument = serde_json::from_slice(body).ok()?;
    Some(SessionCredentials {
        access_key: document.access_key_id,
        secret_key: document.secret_access_key,
        session_token: document.token,
        expires_at: document.expiration.parse().ok()?,
    })
}

/// An instance reports some failures with status 200 and this code.
pub(super) fn parse_json_code(body: &[u8]) -> Option<String> {
    let document: ErrorDocument = serde_json::from_slice(body).ok()?;
    Some(plain_code(&document.code))
}

pub(super) fn parse_sts_credentials(body: &[u8]) -> Option<SessionCredentials> {
    let document = Document::parse(std::str::from_utf8(body).ok()?).ok()?;
    let credentials = find_element(&document, "Credentials")?;
    Some(SessionCredentials {
        access_key: child_text(credentials, "AccessKeyId")?,
        secret_key: child_text(credentials, "SecretAccessKey")?,
        session_token: child_text(credentials, "SessionToken")?,
        expires_at: child_text(credentials, "Expiration")?.parse().ok()?,
    })
}

/// Such as `InvalidIdentityToken`. Empty if there is none.
pub(super) fn parse_sts_code(body: &[u8]) -> String {
    let parse = || {
        let document = Document::parse(std::str::from_utf8(body).ok()?).ok()?;
        let code = child_text(find_element(&document, "Error")?, "Code")?;
        Some(plain_code(&code))
    };
    parse().unwrap_or_default()
}

fn find_element<'a, 'input>(
    document: &'a Document<'input>,
    name: &str,
) -> Option<Node<'a, 'input>> {
    let mut elements = document.descendants();
    elements.find(|node| node.tag_name().name() == name)
}

fn child_text(node: Node<'_, '_>, name: &str) -> Option<String> {
    let mut children = node.children();
    let child = children.find(|child| child.tag_name().name() == name)?;
    Some(child.text()?.trim().to_owned())
}

/// The code appears in messages and logs.
fn plain_code(code: &str) -> String {
    let plain = code.chars().filter(char::is_ascii_alphanumeric);
    plain.take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the reference of `AssumeRoleWithWebIdentity`.
    const STS_ANSWER: &[u8] =
        br#"<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <SubjectFromWebIdentityToken>amzn1.account.AF6RHO7KZU5XRVQJGXK6HB56KR2A</SubjectFromWebIdentityToken>
    <Audience>client.5498841531868486423.1548@apps.example.com</Audience>
    <AssumedRoleUser>
      <Arn>arn:aws:sts::123456789012:assumed-role/FederatedWebIdentityRole/app1</Arn>
      <AssumedRoleId>AROACLKWSDQRAOEXAMPLE:app1</AssumedRoleId>
    </AssumedRoleUser>
    <Credentials>
      <SessionToken>AQoDYXdzEE0a8ANXXXXXXXXNO1ewxE5TijQyp+IEXAMPLE</SessionToken>
      <SecretAccessKey>wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY</SecretAccessKey>
      <Expiration>2014-10-24T23:00:23Z</Expiration>
      <AccessKeyId>ASgeIAIOSFODNN7EXAMPLE</AccessKeyId>
    </Credentials>
    <Provider>www.amazon.com</Provider>
  </AssumeRoleWithWebIdentityResult>
  <ResponseMetadata><RequestId>ad4156e9-bce1-11e2-82e6-6b6efEXAMPLE</RequestId></ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>"#;

    /// The example in the guide to EC2.
    const INSTANCE_ANSWER: &[u8] = br#"{
  "Code" : "Success",
  "LastUpdated" : "2012-04-26T16:39:16Z",
  "Type" : "AWS-HMAC",
  "AccessKeyId" : "ASIAIOSFODNN7EXAMPLE",
  "SecretAccessKey" : "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  "Token" : "token",
  "Expiration" : "2017-05-17T15:09:54Z"
}"#;

    #[test]
    fn the_published_answer_of_sts_is_understood() {
        let credentials = parse_sts_credentials(STS_ANSWER).unwrap();
        assert_eq!(credentials.access_key, "ASgeIAIOSFODNN7EXAMPLE");
        assert!(credentials.secret_key.ends_with("CYzEXAMPLEKEY"));
        assert!(credentials.session_token.starts_with("AQoDYXdzEE0a8AN"));
        assert_eq!(credentials.expires_at.timestamp(), 1_414_191_623);
    }

    #[test]
    fn the_published_answer_of_an_instance_is_understood() {
        let credentials = parse_json_credentials(INSTANCE_ANSWER).unwrap();
        assert_eq!(credentials.access_key, "ASIAIOSFODNN7EXAMPLE");
        assert_eq!(credentials.session_token, "token");
        assert_eq!(credentials.expires_at.timestamp(), 1_495_033_794);
        assert_eq!(parse_json_code(INSTANCE_ANSWER).unwrap(), "Success");
    }

    #[test]
    fn a_refusal_has_a_code_of_plain_letters() {
        let refusal = br#"<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <Error><Type>Sender</Type><Code>InvalidIdentityToken</Code><Message>No.</Message></Error>
  <RequestId>1</RequestId>
</ErrorResponse>"#;
        assert_eq!(parse_sts_code(refusal), "InvalidIdentityToken");
        assert_eq!(parse_sts_code(STS_ANSWER), "");
        assert_eq!(parse_sts_code(b"<"), "");
        let agent = br#"{"code": "Access\nDenied", "message": "no"}"#;
        assert_eq!(parse_json_code(agent).unwrap(), "AccessDenied");
    }

    #[test]
    fn an_incomplete_answer_is_not_understood() {
        for part in [
            "SessionToken",
            "SecretAccessKey",
            "Expiration",
            "AccessKeyId",
        ] {
            let without = String::from_utf8_lossy(STS_ANSWER).replace(part, "Other");
            assert_eq!(parse_sts_credentials(without.as_bytes()), None, "{part}");
        }
        for part in ["Token", "SecretAccessKey", "Expiration", "AccessKeyId"] {
            let without = String::from_utf8_lossy(INSTANCE_ANSWER).replace(part, "Other");
            assert_eq!(parse_json_credentials(without.as_bytes()), None, "{part}");
        }
    }
}
