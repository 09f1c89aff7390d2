//! A service with one group in memory, for runs that are killed.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::http_request::{WholeRequest, read_request};

#[derive(Debug, Clone)]
pub(crate) struct FakeService {
    pub(crate) base_url: String,
    group: Arc<Mutex<FakeGroup>>,
    /// How many requests have arrived.
    requests: watch::Receiver<u64>,
}

#[derive(Debug, Default)]
struct FakeGroup {
    is_created: bool,
    is_sealed: bool,
    /// The position of each cargo in the results, by custom id.
    members: HashMap<String, usize>,
    results: Vec<Value>,
    bulks: u64,
}

impl FakeService {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let group = Arc::new(Mutex::new(FakeGroup::default()));
        let (count, requests) = watch::channel(0);
        let served = Arc::clone(&group);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                count.send_modify(|count| *count += 1);
                tokio::spawn(answer(connection, Arc::clone(&served)));
            }
        });
        Self {
            base_url,
            group,
            requests,
        }
    }

    /// Waits until so many more requests have arrived.
    pub(crate) async fn wait_for_requests(&self, more: u64) {
        let mut requests = self.requests.clone();
        let wanted = *requests.borrow() + more;
        requests.wait_for(|count| *count >= wanted).await.unwrap();
    }

    /// How many cargo exist, and whether the group is sealed.
    pub(crate) fn state(&self) -> (usize, bool) {
        let group = self.group.lock();
        (group.results.len(), group.is_sealed)
    }
}

async fn answer(mut connection: TcpStream, group: Arc<Mutex<FakeGroup>>) {
    let Some(request) = read_request(&mut connection).await else {
        return;
    };
    let body = group.lock().respond(&request);
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _written = connection.write_all(head.as_bytes()).await;
    let _written = connection.write_all(body.as_bytes()).await;
}

impl FakeGroup {
    fn respond(&mut self, request: &WholeRequest) -> String {
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((&request.target, ""));
        match path {
            "POST /groups" => {
                let existing = std::mem::replace(&mut self.is_created, true);
                self.record(existing)
            }
            "POST /cargo/bulk" => self.load(&String::from_utf8_lossy(&request.body)),
            "POST /groups/grp_1/seal" => {
                self.is_sealed = true;
                self.record(true)
            }
            "GET /groups/grp_1/results" => {
                let after = query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("after="));
                let after: usize = after.unwrap_or("0").parse().unwrap_or(0);
                let lines = self.results.iter().skip(after);
                // A stream ends early, as if a connection was lost between two lines.
                let lines: Vec<String> = lines.take(700).map(ToString::to_string).collect();
                [lines.join("\n"), "\n".to_owned()].concat()
            }
            _ => self.record(true),
        }
    }

    fn record(&self, existing: bool) -> String {
        let total = self.results.len();
        let status = if self.is_sealed { "completed" } else { "open" };
        json!({
            "group_id": "grp_1",
            "name": "a",
            "status": status,
            "counts": {"total": total, "unfinished": 0, "succeeded": total, "failed": 0, "cancelled": 0},
            "cost": {"held": 0, "charged": 0},
            "existing": existing,
        })
        .to_string()
    }

    /// Every second request has its last item limited.
    fn load(&mut self, lines: &str) -> String {
        self.bulks += 1;
        let loads: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let limited = (self.bulks.is_multiple_of(2) && loads.len() > 1).then(|| loads.len() - 1);
        let mut results = Vec::new();
        for (index, load) in loads.iter().enumerate() {
            if Some(index) == limited {
                let detail = json!({"error": "rate_limit_exceeded", "message": "m", "retry_after_seconds": 0});
                results.push(json!({"index": index, "status": 429, "detail": detail, "retry_after_seconds": 0}));
                continue;
            }
            results.push(
                json!({"index": index, "status": 202, "cargo_id": self.add(load), "replay": false}),
            );
        }
        json!({"accepted": 0, "refused": 0, "results": results}).to_string()
    }

    /// The same custom id is the same cargo.
    fn add(&mut self, load: &Value) -> String {
        let id = load["custom_id"].as_str().unwrap_or_default().to_owned();
        let place = self.members.get(&id).copied();
        let place = place.unwrap_or_else(|| {
            let number = self.results.len() + 1;
            self.results.push(json!({
                "number": number,
                "position": load["position"],
                "custom_id": id,
                "cargo_id": format!("crg_{number}"),
                "success": true,
                "response": load["params"]["messages"][0]["content"],
                "error": null,
                "cost": {"charged": 2},
            }));
            number - 1
        });
        self.members.insert(id, place);
        format!("crg_{}", place + 1)
    }
}
