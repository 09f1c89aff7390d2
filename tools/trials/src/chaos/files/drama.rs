//! One upload from its session to its end, with the mishap of its plot.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::caller::{self, Caller, Said};
use crate::chaos::files::plot::Plot;
use crate::samples::content::Content;
use crate::samples::movie::Movie;
use crate::samples::{self, Sample};
use crate::scanner;

const MB: u64 = 1 << 20;
/// The settings of the trial: a second less than a session may be open, and how long a grant is valid.
const ALMOST_ABANDONED: Duration = Duration::from_secs(14);
const GRANT: Duration = Duration::from_secs(20);
/// Who takes longer may be swept.
const IN_TIME: Duration = Duration::from_secs(11);
/// Callers give up after this, which is counted against us.
const PATIENCE: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(200);

/// How it has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Must {
    BeReady,
    NotBeReady,
    /// Any way, as long as it ends.
    #[default]
    Settle,
}

#[derive(Debug, Default)]
pub struct Played {
    pub plot: Plot,
    /// Whose it is.
    pub caller: usize,
    /// None where no session came.
    pub file: Option<String>,
    pub must: Must,
    /// It had to be ready, but was so slow that the sweep may have come first.
    pub is_late: bool,
    /// What was seen last.
    pub note: String,
}

/// A session, and when it began at the earliest.
struct Scene<'a> {
    caller: &'a Caller,
    content: Content,
    id: String,
    upload: Value,
    begun: Instant,
    /// When a complete was first answered: from then on it is not swept.
    completed: OnceLock<Instant>,
}

pub async fn play(caller: &Caller, place: usize, number: usize) -> Played {
    let plot = Plot::of_turn(number);
    let mut played = Played {
        plot,
        caller: place,
        ..Played::default()
    };
    let content = content_of(plot, number);
    match open(caller, content).await {
        Err(said) => played.note = said.line(),
        Ok(scene) => {
            played.file = Some(scene.id.clone());
            let (must, note) = scene.play(plot).await;
            played.note = note;
            // The sweep cannot tell a slow caller from none.
            let completed = scene.completed.get().copied().unwrap_or_else(Instant::now);
            played.is_late = must == Must::BeReady && completed > scene.begun + IN_TIME;
            played.must = if played.is_late { Must::Settle } else { must };
        }
    }
    played
}

fn content_of(plot: Plot, number: usize) -> Content {
    if plot.has_parts() {
        let large = [9, 17].get(number % 2).copied().unwrap_or(9);
        // Parts that can change places need a second one.
        let size = if matches!(plot, Plot::SwappedParts | Plot::MissingPart) {
            17
        } else {
            large
        };
        return Movie::new(size * MB + 12_345).into();
    }
    let sample = if plot == Plot::WrongType {
        Sample {
            media_type: "image/jpeg",
            ..Sample::of_turn(1)
        }
    } else if plot == Plot::Infected {
        Sample::text([samples::text(), scanner::eicar()].concat())
    } else {
        // Plots and media types come in turns of different lengths.
        Sample::of_turn(number)
    };
    sample.into()
}

/// Asks for a session until there is one.
async fn open(caller: &Caller, content: Content) -> Result<Scene<'_>, Said> {
    let asked = Instant::now();
    loop {
        let begun = Instant::now();
        let said = caller.create(&content).await;
        if said.status == 201 {
            return Ok(Scene {
                id: said.text("id").to_owned(),
                upload: said.upload().clone(),
                caller,
                content,
                begun,
                completed: OnceLock::new(),
            });
        }
        let may_come_later = said.is_trouble() || said.text("error") == "too_many_upload_sessions";
        if !may_come_later || asked.elapsed() > PATIENCE {
            return Err(said);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl Scene<'_> {
    async fn play(&self, plot: Plot) -> (Must, String) {
        match plot {
            Plot::Plain | Plot::Parts => self.plain().await,
            Plot::WrongType | Plot::Infected => {
                let (_, note) = self.plain().await;
                (Must::NotBeReady, note)
            }
            Plot::WrongBytes => {
                let stored = self.caller.post(&self.upload, self.other_bytes()).await;
                let (_, note) = self.ended(&json!({})).await;
                (Must::NotBeReady, format!("stored {stored:?}; {note}"))
            }
            Plot::Half => {
                let cut = caller::post_half(&self.upload, &self.content.whole()).await;
                let (_, note) = self.ended(&json!({})).await;
                (Must::NotBeReady, format!("cut {cut:?}; {note}"))
            }
            Plot::Twice => self.twice().await,
            Plot::Overwritten => self.overwritten().await,
            Plot::Replayed => self.replayed().await,
            Plot::Deleted => self.deleted().await,
            Plot::Overdue => self.overdue().await,
            Plot::Abandoned => {
                let brought = self.caller.bring(&self.upload, &self.content).await;
                (Must::NotBeReady, format!("brought {brought:?}"))
            }
            Plot::Duplicate => self.duplicate().await,
            Plot::Refreshed => self.refreshed().await,
            Plot::Late => {
                tokio::time::sleep(GRANT + Duration::from_secs(2)).await;
                let stored = self.caller.post(&self.upload, self.content.whole()).await;
                let said = self.caller.complete(&self.id, &json!({})).await;
                let note = format!("stored {stored:?}; {}", said.line());
                (Must::NotBeReady, note)
            }
            Plot::SwappedParts | Plot::MissingPart => self.disordered(plot).await,
            Plot::OverwrittenPart => self.overwritten_part().await,
        }
    }

    async fn plain(&self) -> (Must, String) {
        match self.caller.bring(&self.upload, &self.content).await {
            Ok(listed) => self.ended(&listed).await,
            Err(refused) => (Must::NotBeReady, refused),
        }
    }

    /// Completes until the file has come to an end.
    async fn ended(&self, listed: &Value) -> (Must, String) {
        let asked = Instant::now();
        loop {
            let said = self.caller.complete(&self.id, listed).await;
            if !said.is_trouble() {
                self.completed.get_or_init(Instant::now);
            }
            if said.status != 202 && !said.is_trouble() {
                return (Must::BeReady, said.line());
            }
            if asked.elapsed() > PATIENCE {
                return (Must::BeReady, format!("gave up: {}", said.line()));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn twice(&self) -> (Must, String) {
        if let Err(refused) = self.caller.bring(&self.upload, &self.content).await {
            return (Must::NotBeReady, refused);
        }
        let body = json!({});
        let ((must, first), (_, second)) = tokio::join!(self.ended(&body), self.ended(&body));
        (must, format!("{first}; {second}"))
    }

    async fn overwritten(&self) -> (Must, String) {
        if let Err(refused) = self.caller.bring(&self.upload, &self.content).await {
            return (Must::NotBeReady, refused);
        }
        let again = async {
            let mut told = Vec::new();
            for _ in 0..3 {
                told.push(self.caller.post(&self.upload, self.other_bytes()).await);
                told.push(self.caller.post(&self.upload, self.content.whole()).await);
            }
            told
        };
        let body = json!({});
        let ((must, note), told) = tokio::join!(self.ended(&body), again);
        (must, format!("{note}; {told:?}"))
    }

    async fn replayed(&self) -> (Must, String) {
        for _ in 0..2 {
            if let Err(refused) = self.caller.bring(&self.upload, &self.content).await {
                return (Must::NotBeReady, refused);
            }
        }
        let ended = self.ended(&json!({})).await;
        // This lies in staging, where nobody wants it, until it is swept.
        let _ = self.caller.bring(&self.upload, &self.content).await;
        ended
    }

    async fn deleted(&self) -> (Must, String) {
        if let Err(refused) = self.caller.bring(&self.upload, &self.content).await {
            return (Must::NotBeReady, refused);
        }
        let delete = async {
            tokio::time::sleep(Duration::from_millis(rand::random_range(0..120))).await;
            self.until_answered().await
        };
        let body = json!({});
        let ((_, note), said) = tokio::join!(self.ended(&body), delete);
        (Must::NotBeReady, format!("{note}; {}", said.line()))
    }

    async fn until_answered(&self) -> Said {
        loop {
            let said = self.caller.delete(&self.id).await;
            if !said.is_trouble() {
                return said;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn overdue(&self) -> (Must, String) {
        if let Err(refused) = self.caller.bring(&self.upload, &self.content).await {
            return (Must::NotBeReady, refused);
        }
        let spread = Duration::from_millis(rand::random_range(0..2000));
        let at = self.begun + ALMOST_ABANDONED + spread;
        tokio::time::sleep_until(at.into()).await;
        let (_, note) = self.ended(&json!({})).await;
        (Must::Settle, note)
    }

    async fn duplicate(&self) -> (Must, String) {
        let (must, note) = self.plain().await;
        let (again, gone) = tokio::join!(self.caller.create(&self.content), async {
            tokio::time::sleep(Duration::from_millis(rand::random_range(0..20))).await;
            self.until_answered().await
        });
        // The second has its own life; the first is deleted, whatever became of it.
        if again.status == 201 {
            let id = again.text("id").to_owned();
            let brought = self.caller.bring(again.upload(), &self.content).await;
            if let Ok(listed) = brought {
                self.caller.complete(&id, &listed).await;
            }
        }
        let note = format!("{must:?} {note}; {}; {}", again.line(), gone.line());
        (Must::NotBeReady, note)
    }

    async fn refreshed(&self) -> (Must, String) {
        let said = self.caller.refresh(&self.id).await;
        let upload = if said.status == 200 {
            said.upload()
        } else {
            &self.upload
        };
        match self.caller.bring(upload, &self.content).await {
            Ok(listed) => self.ended(&listed).await,
            Err(refused) => (Must::NotBeReady, refused),
        }
    }

    async fn disordered(&self, plot: Plot) -> (Must, String) {
        let brought = if plot == Plot::MissingPart {
            self.bring_first().await
        } else {
            self.caller.bring(&self.upload, &self.content).await
        };
        let mut listed = match brought {
            Ok(listed) => listed,
            Err(refused) => return (Must::NotBeReady, refused),
        };
        if let Some([first, second]) = listed
            .get_mut("parts")
            .and_then(Value::as_array_mut)
            .map(Vec::as_mut_slice)
        {
            std::mem::swap(first, second);
            if let (Some(one), Some(two)) = (first.as_object_mut(), second.as_object_mut()) {
                one.insert("part_number".to_owned(), 1.into());
                two.insert("part_number".to_owned(), 2.into());
            }
        }
        let (_, note) = self.ended(&listed).await;
        (Must::NotBeReady, note)
    }

    /// Brings the first part and lists a second that it does not have.
    async fn bring_first(&self) -> Result<Value, String> {
        let part = self.upload.pointer("/parts/0").unwrap_or(&Value::Null);
        let bytes = self.content.part(0, 16 * MB);
        let first = self.caller.put(&self.upload, part, bytes).await?;
        let mut second = first.clone();
        if let Some(second) = second.as_object_mut() {
            second.insert("part_number".to_owned(), 2.into());
        }
        Ok(json!({"parts": [second, first]}))
    }

    async fn overwritten_part(&self) -> (Must, String) {
        let listed = match self.caller.bring(&self.upload, &self.content).await {
            Ok(listed) => listed,
            Err(refused) => return (Must::NotBeReady, refused),
        };
        let part = self.upload.pointer("/parts/0").unwrap_or(&Value::Null);
        let mut bytes = self.content.part(0, 16 * MB).to_vec();
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        let again = self.caller.put(&self.upload, part, bytes.into());
        let ((_, note), again) = tokio::join!(self.ended(&listed), again);
        // Either was first; what is ready is what was declared.
        (Must::Settle, format!("{note}; {again:?}"))
    }

    fn other_bytes(&self) -> bytes::Bytes {
        let mut bytes = self.content.whole().to_vec();
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        bytes.into()
    }
}
