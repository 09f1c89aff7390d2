//! TLS to PostgreSQL: certificates are verified, and no server can turn TLS off.
//!
//! A proxy before the real server speaks TLS in its place.

use std::path::Path;

use store::{Pool, PoolOptions, WorkloadClass};
use test_support::certificates::TestAuthority;
use test_support::database::TestDatabase;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The first message of a client that wants TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Accepts TLS with this acceptor or, without one, refuses it and continues in plain text.
struct TlsProxy {
    port: u16,
    url: String,
}

impl TlsProxy {
    async fn start(database: &TestDatabase, acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, url) = (listener.local_addr().unwrap().port(), database.url());
        let server = split_url(&url).1.to_owned();
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                tokio::spawn(forward(tcp, acceptor.clone(), server.clone()));
            }
        });
        Self { port, url }
    }

    fn url(&self, host: &str, query: &str) -> String {
        let (user, _, database) = split_url(&self.url);
        format!("postgres://{user}{host}:{}/{database}?{query}", self.port)
    }

    async fn connect(&self, host: &str, query: &str) -> Result<(), String> {
        let connected = store::doctor::try_connect(&self.url(host, query)).await;
        connected.map(drop).map_err(|error| format!("{error:?}"))
    }
}

/// The user with its `@`, the server and the database.
fn split_url(url: &str) -> (&str, &str, &str) {
    let rest = url.split_once("://").unwrap().1;
    let (rest, database) = rest.rsplit_once('/').unwrap();
    let (user, server) = rest.split_at(rest.rfind('@').map_or(0, |at| at + 1));
    (user, server, database)
}

async fn forward(
    mut client: TcpStream,
    acceptor: Option<TlsAcceptor>,
    server: String,
) -> std::io::Result<()> {
    let mut request = [0; 8];
    client.read_exact(&mut request).await?;
    assert_eq!(request, SSL_REQUEST);
    let mut server = TcpStream::connect(server).await?;
    if let Some(acceptor) = acceptor {
        client.write_all(b"S").await?;
        let mut client = acceptor.accept(client).await?;
        tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    } else {
        client.write_all(b"N").await?;
        tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    }
    Ok(())
}

/// Writes a PEM file, which is removed with the build directory.
fn write_pem(text: &str) -> String {
    let name = format!("{:032x}.pem", rand::random::<u128>());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn h5_a_certificate_is_verified() {
    let database = TestDatabase::new().await;
    let authority = TestAuthority::generate();
    let acceptor = authority.acceptor(&["localhost"]);
    let proxy = TlsProxy::start(&database, Some(acceptor)).await;
    let root = write_pem(&authority.pem());
    let other = write_pem(&TestAuthority::generate().pem());
    let full = format!("sslmode=verify-full&sslrootcert={root}");
    assert_eq!(proxy.connect("localhost", &full).await, Ok(()));
    // The certificate is for another name: verify-ca accepts that, verify-full does not.
    let failure = proxy.connect("127.0.0.1", &full).await.unwrap_err();
    assert!(failure.contains("NotValidForName"), "{failure}");
    let ca = format!("sslmode=verify-ca&sslrootcert={root}");
    assert_eq!(proxy.connect("127.0.0.1", &ca).await, Ok(()));
    // Another authority. With an authority, require verifies too.
    for mode in ["verify-full", "verify-ca", "require"] {
        let query = format!("sslmode={mode}&sslrootcert={other}");
        let failure = proxy.connect("localhost", &query).await.unwrap_err();
        assert!(failure.contains("InvalidCertificate"), "{mode}: {failure}");
    }
    assert_eq!(proxy.connect("localhost", "sslmode=require").await, Ok(()));
}

#[tokio::test]
async fn h5_a_server_cannot_turn_tls_off() {
    let database = TestDatabase::new().await;
    let proxy = TlsProxy::start(&database, None).await;
    for mode in ["require", "verify-ca", "verify-full"] {
        let query = format!("sslmode={mode}");
        let failure = proxy.connect("localhost", &query).await.unwrap_err();
        assert!(failure.contains("does not support TLS"), "{failure}");
    }
    // So prefer does not count as encrypted.
    assert_eq!(proxy.connect("localhost", "sslmode=prefer").await, Ok(()));
}

#[tokio::test]
async fn h5_a_client_certificate_is_sent() {
    let database = TestDatabase::new().await;
    let authority = TestAuthority::generate();
    let acceptor = authority.strict_acceptor(&["localhost"]);
    let proxy = TlsProxy::start(&database, Some(acceptor)).await;
    let root = write_pem(&authority.pem());
    let full = format!("sslmode=verify-full&sslrootcert={root}");
    assert!(proxy.connect("localhost", &full).await.is_err());
    let (certificate, key) = authority.client_pem();
    let (certificate, key) = (write_pem(&certificate), write_pem(&key));
    let half = format!("{full}&sslcert={certificate}");
    assert!(proxy.connect("localhost", &half).await.is_err());
    let both = format!("{half}&sslkey={key}");
    assert_eq!(proxy.connect("localhost", &both).await, Ok(()));
    // The pool too.
    let options = PoolOptions {
        connections: 1,
        application: "test".to_owned(),
        interceptor: None,
    };
    let url = proxy.url("localhost", &both);
    let pool = Pool::new(&url, WorkloadClass::Stage, options).unwrap();
    let one: i32 = sqlx::query_scalar("select 1")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(one, 1);
}
