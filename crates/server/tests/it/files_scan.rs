//! Files from complete to ready or failed, with a real object store, malware scanner and probe.

use domain::file::{FileStructure, MediaType};
use domain::upload::PART_BYTES;
use store::shard::file::{FileCreation, FileRow, UploadPart};
use test_support::sample_files;
use workers::stage::{Stage as _, StepResult};

mod crash;

mod pausing_proxy;

mod malware_scanner;

pub(crate) mod fixture;

use fixture::{FileStageFixture, created_session, declaration};

const READY_STATUS: &str = "ready - clean";

fn part_size() -> usize {
    usize::try_from(PART_BYTES).unwrap()
}

#[tokio::test]
async fn a_good_file_of_every_type_becomes_ready() {
    let mut fixture = FileStageFixture::new().await;
    let mut files = Vec::new();
    for media_type in MediaType::ALL {
        let file = fixture
            .upload_and_complete(&sample_files::valid_file(*media_type), *media_type)
            .await;
        files.push(file);
    }
    fixture.scan().await;
    for file in &files {
        let (status, name) = (fixture.status(file).await, file.media_type.as_str());
        assert_eq!(status, READY_STATUS, "{name}");
        let found = fixture.find(file).await;
        assert!(!found.staged && found.object == Some(file.id), "{name}");
        let expires_at = domain::file::expires_at(fixture.now(), file.ttl_seconds);
        assert_eq!(found.expires_at, Some(expires_at), "{name}");
    }
    assert_eq!(fixture.count_objects().await, (0, MediaType::ALL.len()));
    let total = files.iter().map(|file| file.size_bytes).sum::<u64>();
    assert_eq!(fixture.storage_usage().await.bytes, total);
}

#[tokio::test]
async fn the_structure_of_a_file_is_stored() {
    let mut fixture = FileStageFixture::new().await;
    let pdf = fixture
        .upload_and_complete(&sample_files::pdf::document(7), MediaType::Pdf)
        .await;
    let (png, mp4) = (MediaType::Png, MediaType::Mp4);
    let png = fixture
        .upload_and_complete(&sample_files::valid_file(png), png)
        .await;
    let mp4 = fixture
        .upload_and_complete(&sample_files::valid_file(mp4), mp4)
        .await;
    fixture.scan().await;
    let ids = [pdf.id, png.id, mp4.id];
    let found = store::shard::file::reference::find(&fixture.shard, fixture.project, &ids);
    let found = found.await.unwrap();
    let read = ids.map(|id| found[&id].structure.unwrap());
    let image = FileStructure::Image {
        width: 4,
        height: 4,
    };
    let video = FileStructure::Video { milliseconds: 1000 };
    assert_eq!(read, [FileStructure::Pages(7), image, video]);
}

#[tokio::test]
async fn a_file_in_parts_becomes_ready() {
    let mut fixture = FileStageFixture::new().await;
    let bytes = sample_files::text(part_size() + 1000);
    let file = fixture.create_session(&bytes, MediaType::Text).await;
    let (first, last) = bytes.split_at(part_size());
    let listed = fixture.put_staged_parts(&file, &[first, last]).await;
    fixture.complete(&file, Some(&listed)).await;
    fixture.scan().await;
    assert_eq!(fixture.status(&file).await, READY_STATUS);
    assert_eq!(fixture.count_objects().await, (0, 1));
    assert_eq!(fixture.count_open_uploads().await, 0);
}

#[tokio::test]
async fn other_bytes_than_declared_fail() {
    let mut fixture = FileStageFixture::new().await;
    let text = MediaType::Text;
    let wrong = fixture.create_session(b"what was declared", text).await;
    fixture.put_staged(&wrong, b"what was uploaded").await;
    let longer = fixture.create_session(b"what was declared", text).await;
    fixture
        .put_staged(&longer, b"what was uploaded instead")
        .await;
    let missing = fixture.create_session(b"never", text).await;
    let infected = fixture.create_session(&sample_files::eicar(), text).await;
    fixture.put_staged(&infected, &sample_files::eicar()).await;
    let mistaken = fixture
        .create_session(&sample_files::pdf::document(1), MediaType::Png)
        .await;
    fixture
        .put_staged(&mistaken, &sample_files::pdf::document(1))
        .await;
    for file in [&wrong, &longer, &missing, &infected, &mistaken] {
        fixture.complete(file, None).await;
    }
    fixture.scan().await;
    let checksum = "failed checksum_mismatch pending";
    assert_eq!(fixture.status(&wrong).await, checksum);
    assert_eq!(
        fixture.status(&longer).await,
        "failed size_mismatch pending"
    );
    assert_eq!(
        fixture.status(&missing).await,
        "failed upload_missing pending"
    );
    assert_eq!(
        fixture.status(&infected).await,
        "failed malware_detected infected"
    );
    // A wrong checksum takes precedence over a wrong media type.
    assert_eq!(fixture.status(&mistaken).await, checksum);
    assert_eq!(fixture.count_objects().await, (0, 0));
    assert_eq!(
        fixture.storage_usage().await,
        domain::storage_quota::StorageUsage::default()
    );
}

#[tokio::test]
async fn bytes_of_another_form_fail() {
    let mut fixture = FileStageFixture::new().await;
    let png = fixture
        .upload_and_complete(&sample_files::valid_file(MediaType::Jpeg), MediaType::Png)
        .await;
    let pages = fixture
        .upload_and_complete(&sample_files::pdf::document(101), MediaType::Pdf)
        .await;
    let broken = [
        b"%PDF-1.4\n".as_slice(),
        sample_files::unique_text().as_bytes(),
    ]
    .concat();
    let broken = fixture.upload_and_complete(&broken, MediaType::Pdf).await;
    fixture.scan().await;
    assert_eq!(
        fixture.status(&png).await,
        "failed magic_byte_mismatch pending"
    );
    assert_eq!(
        fixture.status(&pages).await,
        "failed too_many_pages pending"
    );
    assert_eq!(
        fixture.status(&broken).await,
        "failed malformed_document pending"
    );
}

#[tokio::test]
async fn parts_that_are_not_the_file_fail() {
    let mut fixture = FileStageFixture::new().await;
    let bytes = sample_files::text(part_size() + 1000);
    let other = sample_files::text(part_size());
    let (first, last) = bytes.split_at(part_size());
    let declared = declaration(&bytes, MediaType::Text);
    let mut sessions = Vec::new();
    for _ in 0..6 {
        sessions.push(created_session(fixture.create_file(declared).await).unwrap());
    }
    let sessions: [FileRow; 6] = sessions.try_into().unwrap();
    let [swapped, missing, short, tagged, summed, unlisted] = &sessions;
    let listed = fixture.put_staged_parts(swapped, &[&other, last]).await;
    fixture.complete(swapped, Some(&listed)).await;
    let listed = fixture.put_staged_parts(missing, &[first]).await;
    fixture.complete(missing, Some(&listed)).await;
    let listed = fixture.put_staged_parts(short, &[first, &last[1..]]).await;
    fixture.complete(short, Some(&listed)).await;
    let mut listed = fixture.put_staged_parts(tagged, &[first, last]).await;
    listed.swap(0, 1);
    fixture.complete(tagged, Some(&listed)).await;
    // The right bytes, but the caller lists a wrong checksum for a part.
    let mut listed = fixture.put_staged_parts(summed, &[first, last]).await;
    listed[0].checksum = listed[1].checksum;
    fixture.complete(summed, Some(&listed)).await;
    let listed: Vec<UploadPart> = fixture.put_staged_parts(unlisted, &[first, last]).await;
    fixture.complete(unlisted, Some(&listed[..1])).await;
    fixture.scan().await;
    let checksum = "failed checksum_mismatch pending";
    assert_eq!(fixture.status(swapped).await, checksum);
    assert_eq!(
        fixture.status(missing).await,
        "failed upload_missing pending"
    );
    assert_eq!(fixture.status(short).await, "failed size_mismatch pending");
    assert_eq!(fixture.status(tagged).await, checksum);
    assert_eq!(fixture.status(summed).await, checksum);
    assert_eq!(
        fixture.status(unlisted).await,
        "failed upload_missing pending"
    );
    assert_eq!(fixture.count_objects().await, (0, 0));
    assert_eq!(fixture.count_open_uploads().await, 0);
}

#[tokio::test]
async fn identical_files_share_one_object() {
    let mut fixture = FileStageFixture::new().await;
    let bytes = sample_files::valid_file(MediaType::Gif);
    let mut copies = Vec::new();
    for _ in 0..4 {
        copies.push(fixture.upload_and_complete(&bytes, MediaType::Gif).await);
    }
    assert_eq!(
        fixture.storage_usage().await.bytes,
        copies[0].size_bytes * 4
    );
    fixture.scan().await;
    let mut objects = std::collections::HashSet::new();
    for copy in &copies {
        assert_eq!(fixture.status(copy).await, READY_STATUS);
        objects.insert(fixture.find(copy).await.object.unwrap());
    }
    assert_eq!(objects.len(), 1);
    assert_eq!(fixture.count_objects().await, (0, 1));
    assert_eq!(fixture.storage_usage().await.bytes, copies[0].size_bytes);
    // The next file needs no upload.
    let next = fixture
        .create_file(declaration(&bytes, MediaType::Gif))
        .await;
    assert!(matches!(next, FileCreation::Duplicate(_)), "{next:?}");
}

#[tokio::test]
async fn large_files_never_wait_for_more_than_their_slots() {
    let mut fixture = FileStageFixture::new().await;
    let small = fixture
        .upload_and_complete(&sample_files::text(10), MediaType::Text)
        .await;
    // Too large to upload in a test: the scan finds each of them missing.
    let mut large = Vec::new();
    for _ in 0..3 {
        let mut declared = declaration(&sample_files::text(10), MediaType::Mp4);
        declared.size_bytes = domain::file_validation::LARGE_FILE_BYTES + 1;
        let file = created_session(fixture.create_file(declared).await).unwrap();
        fixture.complete(&file, None).await;
        large.push(file);
    }
    let now = fixture.now();
    assert_eq!(
        fixture.worker_set.scan.step(now).await.unwrap(),
        StepResult::Processed(3)
    );
    fixture.scan().await;
    assert_eq!(fixture.status(&small).await, READY_STATUS);
    for file in &large {
        assert_eq!(fixture.status(file).await, "failed upload_missing pending");
    }
}

#[tokio::test]
async fn a_large_video_in_parts_becomes_ready() {
    let mut fixture = FileStageFixture::new().await;
    let bytes = sample_files::mp4::large_mp4();
    let file = fixture.create_session(&bytes, MediaType::Mp4).await;
    assert!(file.size_bytes > domain::file_validation::LARGE_FILE_BYTES);
    let parts: Vec<_> = bytes.chunks(part_size()).collect();
    let listed = fixture.put_staged_parts(&file, &parts).await;
    fixture.complete(&file, Some(&listed)).await;
    fixture.scan().await;
    assert_eq!(fixture.status(&file).await, READY_STATUS);
    assert_eq!(fixture.count_objects().await, (0, 1));
}
