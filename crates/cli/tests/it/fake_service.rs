//! A service with groups in memory, for runs that are killed.

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
    groups: Arc<Mutex<FakeGroups>>,
    /// How many requests have arrived.
    requests: watch::Receiver<u64>,
}

/// The first is `grp_1`.
#[derive(Debug, Default)]
struct FakeGroups {
    groups: Vec<FakeGroup>,
    bulks: u64,
}

#[derive(Debug, Default)]
struct FakeGroup {
    id: String,
    name: String,
    is_sealed: bool,
    /// The position of each cargo in the results, by custom id.
    members: HashMap<String, usize>,
    results: Vec<Value>,
}

impl FakeService {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let groups = Arc::new(Mutex::new(FakeGroups::default()));
        let (count, requests) = watch::channel(0);
        let served = Arc::clone(&groups);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                count.send_modify(|count| *count += 1);
                tokio::spawn(answer(connection, Arc::clone(&served)));
            }
        });
        Self {
            base_url,
            groups,
            requests,
        }
    }

    /// Waits until so many more requests have arrived.
    pub(crate) async fn wait_for_requests(&self, more: u64) {
        let mut requests = self.requests.clone();
        let wanted = *requests.borrow() + more;
        requests.wait_for(|count| *count >= wanted).await.unwrap();
    }

    /// How many cargo the first group has, and whether it is sealed.
    pub(crate) fn state(&self) -> (usize, bool) {
        let groups = self.groups.lock();
        let group = &groups.groups[0];
        (group.results.len(), group.is_sealed)
    }

    /// The names of all groups, and how many cargo each has.
    pub(crate) fn sizes(&self) -> Vec<(String, usize)> {
        let groups = self.groups.lock();
        let sizes = groups.groups.iter();
        sizes
            .map(|group| (group.name.clone(), group.results.len()))
            .collect()
    }
}

async fn answer(mut connection: TcpStream, groups: Arc<Mutex<FakeGroups>>) {
    let Some(request) = read_request(&mut connection).await else {
        return;
    };
    let body = groups.lock().respond(&request);
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _written = connection.write_all(head.as_bytes()).await;
    let _written = connection.write_all(body.as_bytes()).await;
}

impl FakeGroups {
    fn respond(&mut self, request: &WholeRequest) -> String {
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((&request.target, ""));
        match path {
            "POST /groups" => {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                self.create(body["name"].as_str().unwrap())
            }
            "POST /cargo/bulk" => self.load(&String::from_utf8_lossy(&request.body)),
            _ => {
                let id = path.split('/').nth(2).unwrap_or_default();
                let operation = path.split('/').nth(3).unwrap_or_default();
                self.find(id).respond(operation, query)
            }
        }
    }

    fn find(&mut self, id: &str) -> &mut FakeGroup {
        let mut groups = self.groups.iter_mut();
        groups.find(|group| group.id == id).unwrap()
    }

    fn create(&mut self, name: &str) -> String {
        if let Some(group) = self.groups.iter().find(|group| group.name == name) {
            return group.record(true);
        }
        let group = FakeGroup {
            id: format!("grp_{}", self.groups.len() + 1),
            name: name.to_owned(),
            ..FakeGroup::default()
        };
        let record = group.record(false);
        self.groups.push(group);
        record
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
            let group = self.find(load["group_id"].as_str().unwrap());
            let cargo = group.add(load);
            results
                .push(json!({"index": index, "status": 202, "cargo_id": cargo, "replay": false}));
        }
        json!({"accepted": 0, "refused": 0, "results": results}).to_string()
    }
}

impl FakeGroup {
    fn respond(&mut self, operation: &str, query: &str) -> String {
        match operation {
            "seal" => {
                self.is_sealed = true;
                self.record(true)
            }
            "results" => {
                let after = query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("after="));
                let after: usize = after.unwrap_or("0").parse().unwrap_or(0);
                let mut body = String::new();
                // A stream ends early, as if a connection was lost between two lines.
                for line in self.results.iter().skip(after).take(700) {
                    body.push_str(&line.to_string());
                    body.push('\n');
                }
                body
            }
            _ => self.record(true),
        }
    }

    fn record(&self, existing: bool) -> String {
        let total = self.results.len();
        let status = if self.is_sealed { "completed" } else { "open" };
        json!({
            "group_id": self.id,
            "name": self.name,
            "status": status,
            "counts": {"total": total, "unfinished": 0, "succeeded": total, "failed": 0, "cancelled": 0},
            "cost": {"held": 0, "charged": 0},
            "existing": existing,
        })
        .to_string()
    }

    /// The same custom id is the same cargo. In the first group, requests that say so fail.
    fn add(&mut self, load: &Value) -> String {
        let id = load["custom_id"].as_str().unwrap_or_default().to_owned();
        let text = &load["params"]["messages"][0]["content"];
        let fails = self.id == "grp_1" && text.as_str().unwrap_or_default().contains("fails once");
        let group = self.id.clone();
        let place = self.members.get(&id).copied();
        let place = place.unwrap_or_else(|| {
            let number = self.results.len() + 1;
            self.results.push(json!({
                "number": number,
                "position": load["position"],
                "custom_id": id,
                "cargo_id": format!("crg_{group}_{number}"),
                "success": !fails,
                "response": if fails { &Value::Null } else { text },
                "error": fails.then_some("storm"),
                "cost": {"charged": if fails { 0 } else { 2 }},
            }));
            number - 1
        });
        self.members.insert(id, place);
        format!("crg_{}_{}", self.id, place + 1)
    }
}
