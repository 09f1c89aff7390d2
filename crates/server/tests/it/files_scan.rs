//! Files from complete to ready or failed: a real store, a real scanner, a real probe.

use domain::file::{MediaType, Structure};
use domain::upload::PART_BYTES;
use store::shard::file::{Created, File, Part};
use workers::stage::{Stage as _, Step};

mod crash;

mod gate;

pub(crate) mod samples;

mod scanners;

pub(crate) mod world;

use world::{World, declared, session};

const READY: &str = "ready - clean";

fn part_bytes() -> usize {
    usize::try_from(PART_BYTES).unwrap()
}

#[tokio::test]
async fn a_good_file_of_every_type_becomes_ready() {
    let mut world = World::new().await;
    let mut files = Vec::new();
    for media_type in MediaType::ALL {
        let file = world.uploaded(&samples::of(*media_type), *media_type).await;
        files.push(file);
    }
    world.scan().await;
    for file in &files {
        let (status, name) = (world.status(file).await, file.media_type.as_str());
        assert_eq!(status, READY, "{name}");
        let found = world.find(file).await;
        assert!(!found.staged && found.object == Some(file.id), "{name}");
        let expires_at = domain::file::expiry(world.now(), file.ttl_seconds);
        assert_eq!(found.expires_at, Some(expires_at), "{name}");
    }
    assert_eq!(world.stored().await, (0, MediaType::ALL.len()));
    let total = files.iter().map(|file| file.size_bytes).sum::<u64>();
    assert_eq!(world.counted().await.bytes, total);
}

#[tokio::test]
async fn what_was_read_from_the_bytes_is_kept() {
    let mut world = World::new().await;
    let pdf = world.uploaded(&samples::pdf(7), MediaType::Pdf).await;
    let (png, mp4) = (MediaType::Png, MediaType::Mp4);
    let png = world.uploaded(&samples::of(png), png).await;
    let mp4 = world.uploaded(&samples::of(mp4), mp4).await;
    world.scan().await;
    let ids = [pdf.id, png.id, mp4.id];
    let found = store::shard::file::reference::find(&world.shard, world.project, &ids);
    let found = found.await.unwrap();
    let read = ids.map(|id| found[&id].structure.unwrap());
    let image = Structure::Image {
        width: 4,
        height: 4,
    };
    let video = Structure::Video { milliseconds: 1000 };
    assert_eq!(read, [Structure::Pages(7), image, video]);
}

#[tokio::test]
async fn a_file_in_parts_becomes_ready() {
    let mut world = World::new().await;
    let bytes = samples::text(part_bytes() + 1000);
    let file = world.session(&bytes, MediaType::Text).await;
    let (first, last) = bytes.split_at(part_bytes());
    let listed = world.stage_parts(&file, &[first, last]).await;
    world.complete(&file, Some(&listed)).await;
    world.scan().await;
    assert_eq!(world.status(&file).await, READY);
    assert_eq!(world.stored().await, (0, 1));
    assert_eq!(world.open_uploads().await, 0);
}

#[tokio::test]
async fn other_bytes_than_declared_fail() {
    let mut world = World::new().await;
    let text = MediaType::Text;
    let wrong = world.session(b"what was declared", text).await;
    world.stage(&wrong, b"what was uploaded").await;
    let longer = world.session(b"what was declared", text).await;
    world.stage(&longer, b"what was uploaded instead").await;
    let missing = world.session(b"never", text).await;
    let infected = world.session(&samples::eicar(), text).await;
    world.stage(&infected, &samples::eicar()).await;
    let mistaken = world.session(&samples::pdf(1), MediaType::Png).await;
    world.stage(&mistaken, &samples::pdf(1)).await;
    for file in [&wrong, &longer, &missing, &infected, &mistaken] {
        world.complete(file, None).await;
    }
    world.scan().await;
    let checksum = "failed checksum_mismatch pending";
    assert_eq!(world.status(&wrong).await, checksum);
    assert_eq!(world.status(&longer).await, "failed size_mismatch pending");
    assert_eq!(
        world.status(&missing).await,
        "failed upload_missing pending"
    );
    assert_eq!(
        world.status(&infected).await,
        "failed malware_detected infected"
    );
    // Other bytes explain more than another type.
    assert_eq!(world.status(&mistaken).await, checksum);
    assert_eq!(world.stored().await, (0, 0));
    assert_eq!(world.counted().await, domain::storage::Stored::default());
}

#[tokio::test]
async fn bytes_of_another_form_fail() {
    let mut world = World::new().await;
    let png = world
        .uploaded(&samples::of(MediaType::Jpeg), MediaType::Png)
        .await;
    let pages = world.uploaded(&samples::pdf(101), MediaType::Pdf).await;
    let broken = [b"%PDF-1.4\n".as_slice(), samples::unique().as_bytes()].concat();
    let broken = world.uploaded(&broken, MediaType::Pdf).await;
    world.scan().await;
    assert_eq!(
        world.status(&png).await,
        "failed magic_byte_mismatch pending"
    );
    assert_eq!(world.status(&pages).await, "failed too_many_pages pending");
    assert_eq!(
        world.status(&broken).await,
        "failed malformed_document pending"
    );
}

#[tokio::test]
async fn parts_that_are_not_the_file_fail() {
    let mut world = World::new().await;
    let bytes = samples::text(part_bytes() + 1000);
    let other = samples::text(part_bytes());
    let (first, last) = bytes.split_at(part_bytes());
    let declared = declared(&bytes, MediaType::Text);
    let mut sessions = Vec::new();
    for _ in 0..6 {
        sessions.push(session(world.create(declared).await).unwrap());
    }
    let sessions: [File; 6] = sessions.try_into().unwrap();
    let [swapped, missing, short, tagged, summed, unlisted] = &sessions;
    let listed = world.stage_parts(swapped, &[&other, last]).await;
    world.complete(swapped, Some(&listed)).await;
    let listed = world.stage_parts(missing, &[first]).await;
    world.complete(missing, Some(&listed)).await;
    let listed = world.stage_parts(short, &[first, &last[1..]]).await;
    world.complete(short, Some(&listed)).await;
    let mut listed = world.stage_parts(tagged, &[first, last]).await;
    listed.swap(0, 1);
    world.complete(tagged, Some(&listed)).await;
    // The right bytes, but the caller says that a part is another.
    let mut listed = world.stage_parts(summed, &[first, last]).await;
    listed[0].checksum = listed[1].checksum;
    world.complete(summed, Some(&listed)).await;
    let listed: Vec<Part> = world.stage_parts(unlisted, &[first, last]).await;
    world.complete(unlisted, Some(&listed[..1])).await;
    world.scan().await;
    let checksum = "failed checksum_mismatch pending";
    assert_eq!(world.status(swapped).await, checksum);
    assert_eq!(world.status(missing).await, "failed upload_missing pending");
    assert_eq!(world.status(short).await, "failed size_mismatch pending");
    assert_eq!(world.status(tagged).await, checksum);
    assert_eq!(world.status(summed).await, checksum);
    assert_eq!(
        world.status(unlisted).await,
        "failed upload_missing pending"
    );
    assert_eq!(world.stored().await, (0, 0));
    assert_eq!(world.open_uploads().await, 0);
}

#[tokio::test]
async fn twins_share_one_object() {
    let mut world = World::new().await;
    let bytes = samples::of(MediaType::Gif);
    let mut twins = Vec::new();
    for _ in 0..4 {
        twins.push(world.uploaded(&bytes, MediaType::Gif).await);
    }
    assert_eq!(world.counted().await.bytes, twins[0].size_bytes * 4);
    world.scan().await;
    let mut objects = std::collections::HashSet::new();
    for twin in &twins {
        assert_eq!(world.status(twin).await, READY);
        objects.insert(world.find(twin).await.object.unwrap());
    }
    assert_eq!(objects.len(), 1);
    assert_eq!(world.stored().await, (0, 1));
    assert_eq!(world.counted().await.bytes, twins[0].size_bytes);
    // The next one need not even be uploaded.
    let next = world.create(declared(&bytes, MediaType::Gif)).await;
    assert!(matches!(next, Created::Duplicate(_)), "{next:?}");
}

#[tokio::test]
async fn large_files_never_wait_for_more_than_their_slots() {
    let mut world = World::new().await;
    let small = world.uploaded(&samples::text(10), MediaType::Text).await;
    // Too large to be uploaded for a test: they are found missing, one after the other.
    let mut large = Vec::new();
    for _ in 0..3 {
        let mut declared = declared(&samples::text(10), MediaType::Mp4);
        declared.size_bytes = domain::verdict::LARGE_BYTES + 1;
        let file = session(world.create(declared).await).unwrap();
        world.complete(&file, None).await;
        large.push(file);
    }
    let now = world.now();
    assert_eq!(world.crew.scan.step(now).await.unwrap(), Step::Did(3));
    world.scan().await;
    assert_eq!(world.status(&small).await, READY);
    for file in &large {
        assert_eq!(world.status(file).await, "failed upload_missing pending");
    }
}

#[tokio::test]
async fn a_large_video_in_parts_becomes_ready() {
    let mut world = World::new().await;
    let bytes = samples::large_video();
    let file = world.session(&bytes, MediaType::Mp4).await;
    assert!(file.size_bytes > domain::verdict::LARGE_BYTES);
    let parts: Vec<_> = bytes.chunks(part_bytes()).collect();
    let listed = world.stage_parts(&file, &parts).await;
    world.complete(&file, Some(&listed)).await;
    world.scan().await;
    assert_eq!(world.status(&file).await, READY);
    assert_eq!(world.stored().await, (0, 1));
}
