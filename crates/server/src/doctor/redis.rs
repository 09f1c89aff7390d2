//! Redis or Valkey: does it say PONG?

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use url::Url;

use crate::doctor::Findings;

const PATIENCE: Duration = Duration::from_secs(3);
const MEND: &str =
    "start Redis there, or correct SVC_REDIS_URL; until then each process limits by itself";

pub(super) async fn examine(url: Option<&Url>) -> Findings {
    let mut found = Findings::of("redis");
    let Some(url) = url.cloned() else {
        return found;
    };
    let tls = url.scheme() == "rediss";
    let asked = tokio::task::spawn_blocking(move || ask(&url)).await;
    match asked.unwrap_or_else(|lost| Err(io::Error::other(lost))) {
        Ok(answer) if tls || answer.starts_with("+PONG") => found.ok("reachable", "it answers"),
        Ok(answer) => {
            let line = answer.lines().next().unwrap_or("nothing");
            let text = format!("it answers PING with: {line}");
            found.wrong(
                "reachable",
                &text,
                "correct the user or password in SVC_REDIS_URL",
            );
        }
        Err(error) => found.wrong("reachable", &error.to_string(), MEND),
    }
    found
}

/// The first answer to PING; over TLS only the connection is tried.
fn ask(url: &Url) -> io::Result<String> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port().unwrap_or(6379);
    let addresses = (host, port).to_socket_addrs()?;
    let mut last = io::Error::other("the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) if url.scheme() == "rediss" => {
                drop(stream);
                return Ok(String::new());
            }
            Ok(stream) => return ping(stream, url),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn ping(mut stream: TcpStream, url: &Url) -> io::Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    if let Some(password) = url.password() {
        let user = if url.username().is_empty() {
            "default"
        } else {
            url.username()
        };
        let answer = say(&mut stream, &["AUTH", &decoded(user), &decoded(password)])?;
        if !answer.starts_with("+OK") {
            return Ok(answer);
        }
    }
    say(&mut stream, &["PING"])
}

/// One command and the first piece of its answer, which is short enough to come whole.
fn say(stream: &mut TcpStream, words: &[&str]) -> io::Result<String> {
    let words_of_command = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()));
    let command = format!(
        "*{}\r\n{}",
        words.len(),
        words_of_command.collect::<String>()
    );
    stream.write_all(command.as_bytes())?;
    let mut answer = [0; 256];
    let length = stream.read(&mut answer)?;
    Ok(String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned())
}

/// What stands percent-encoded in an address.
fn decoded(text: &str) -> String {
    let query = format!("x={}", text.replace('+', "%2B"));
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::doctor::State;

    /// Answers each command with the next of these lines, and returns what was said.
    fn scripted(answers: &'static [&'static str]) -> (u16, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut said = String::new();
            for answer in answers {
                let mut piece = [0; 256];
                let length = stream.read(&mut piece).unwrap();
                said.push_str(std::str::from_utf8(&piece[..length]).unwrap());
                stream.write_all(answer.as_bytes()).unwrap();
            }
            said
        });
        (port, thread)
    }

    #[tokio::test]
    async fn a_pong_is_well() {
        let (port, thread) = scripted(&["+OK\r\n", "+PONG\r\n"]);
        let url = Url::parse(&format!("redis://:p%40ss@127.0.0.1:{port}")).unwrap();
        let found = examine(Some(&url)).await;
        assert_eq!(found.list[0].state, State::Ok, "{found:?}");
        let said = thread.join().unwrap();
        assert!(
            said.contains("$7\r\ndefault\r\n$4\r\np@ss\r\n*1\r\n$4\r\nPING\r\n"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn a_refusal_is_repeated() {
        let (port, thread) = scripted(&["-NOAUTH Authentication required.\r\n"]);
        let url = Url::parse(&format!("redis://127.0.0.1:{port}")).unwrap();
        let found = examine(Some(&url)).await;
        assert_eq!(found.list[0].state, State::Wrong);
        assert!(found.list[0].found.contains("NOAUTH"), "{found:?}");
        thread.join().unwrap();
    }

    #[tokio::test]
    async fn silence_is_wrong_and_no_redis_is_fine() {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let url = Url::parse(&format!("redis://127.0.0.1:{port}")).unwrap();
        assert_eq!(examine(Some(&url)).await.list[0].state, State::Wrong);
        assert_eq!(examine(None).await.list, []);
    }
}
