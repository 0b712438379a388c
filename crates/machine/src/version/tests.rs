use std::sync::{Arc, Mutex};

use super::*;

fn head(database: &[u8]) -> Head {
    Head {
        number: 7,
        time: -3,
        users: 2,
        digest: [9; 32],
        host: "nas".into(),
        program: "0.1.0".into(),
        pieces: vec![
            (Piece::Database, database.len() as u64),
            (Piece::Certificate, 4),
            (Piece::Key, 3),
            (Piece::Keeping, 0),
        ],
    }
}

fn whole() -> Vec<u8> {
    let database: Vec<u8> = (0..200_000_u32).map(|at| (at / 7) as u8).collect();
    let (mut a, mut b, mut c, mut d): (&[u8], &[u8], &[u8], &[u8]) = (&database, b"cert", b"key", b"");
    let mut file = Vec::new();
    write(&head(&database), &mut [&mut a, &mut b, &mut c, &mut d], &mut file).expect("written");
    assert_eq!(file.len() as u64, head(&database).size());
    file
}

type Pieces = Vec<(Piece, Vec<u8>)>;

/// Bytes of each piece, as they are written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Pieces>>);

struct Part(Kept, usize);

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.0.lock().expect("no panic")[self.1].1.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unpacked(file: &[u8]) -> Result<(Head, Pieces), Flaw> {
    let kept = Kept::default();
    let mut open = |piece| -> io::Result<Box<dyn Write>> {
        let mut all = kept.0.lock().expect("no panic");
        all.push((piece, Vec::new()));
        Ok(Box::new(Part(kept.clone(), all.len() - 1)))
    };
    let (head, _) = unpack(&mut &file[..], file.len() as u64, &mut open)?;
    let all = kept.0.lock().expect("no panic").clone();
    Ok((head, all))
}

/// The head with the checksum that it has to have.
fn resealed(mut file: Vec<u8>) -> Vec<u8> {
    let end = START + u32::from_le_bytes(file[12..16].try_into().expect("four bytes")) as usize;
    let sum = Sha256::digest(&file[..end]);
    file[end..end + CHECKSUM].copy_from_slice(&sum);
    let end = file.len() - CHECKSUM;
    let sum = Sha256::digest(&file[..end]);
    file[end..].copy_from_slice(&sum);
    file
}

#[test]
fn what_was_written_is_read() {
    let file = whole();
    let (read, pieces) = unpacked(&file).expect("whole");
    assert_eq!(read, head(&pieces[0].1));
    assert_eq!(pieces[0].1.len(), 200_000);
    assert_eq!(
        pieces[1..],
        [(Piece::Certificate, b"cert".to_vec()), (Piece::Key, b"key".to_vec()), (Piece::Keeping, Vec::new())]
    );
    assert_eq!(read_head(&mut &file[..], file.len() as u64).expect("whole"), read);
}

#[test]
fn a_name_that_is_too_long_is_cut_between_characters() {
    let host = "\u{e9}".repeat(300);
    let long = Head { host, ..head(b"x") };
    let mut file = Vec::new();
    let mut pieces: [&[u8]; 4] = [b"x", b"cert", b"key", b""];
    let mut readers: Vec<&mut dyn Read> = pieces.iter_mut().map(|piece| piece as &mut dyn Read).collect();
    write(&long, &mut readers, &mut file).expect("written");
    assert_eq!(file.len() as u64, long.size());
    assert_eq!(unpacked(&file).expect("whole").0.host, "\u{e9}".repeat(127));
}

#[test]
fn a_piece_that_has_become_shorter_is_not_written() {
    let mut pieces: [&[u8]; 4] = [b"", b"cert", b"key", b""];
    let mut readers: Vec<&mut dyn Read> = pieces.iter_mut().map(|piece| piece as &mut dyn Read).collect();
    let error = write(&head(b"x"), &mut readers, &mut Vec::new()).expect_err("too short");
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn whatever_is_wrong_with_a_file_is_told() {
    let file = whole();
    let flaw = |file: &[u8]| unpacked(file).expect_err("a flaw");
    // Each byte of the head, and some others.
    let at_all = (0..400).chain((400..file.len()).step_by(997)).chain(file.len() - 40..file.len());
    for at in at_all {
        let mut harmed = file.clone();
        harmed[at] ^= 0x10;
        let why = flaw(&harmed);
        let is_told = match at {
            0..8 => matches!(why, Flaw::NotOurs),
            8..12 => matches!(why, Flaw::NewerFormat(_) | Flaw::NotOurs),
            12..16 => matches!(why, Flaw::Head | Flaw::Checksum | Flaw::Length),
            _ => matches!(why, Flaw::Checksum),
        };
        assert!(is_told, "byte {at}: {why:?}");
    }
    for len in (0..300).chain([file.len() - 1]) {
        assert!(matches!(flaw(&file[..len]), Flaw::Length | Flaw::NotOurs), "{len} bytes");
    }
    assert!(matches!(flaw(&[&file[..], b"x"].concat()), Flaw::Length));
    assert!(matches!(flaw(b""), Flaw::NotOurs));
}

#[test]
fn a_head_that_makes_no_sense_is_refused_with_the_right_checksum_too() {
    let file = whole();
    let pieces = START + 8 + 8 + 4 + 32 + 2 + 3 + 2 + 5;
    let length_of_database = pieces + 2;
    type Harm = fn(&mut [u8], usize);
    let harms: [(&str, Harm); 6] = [
        ("a huge length", |file, at| file[at + 2..at + 10].fill(0xff)),
        ("another length", |file, at| file[at + 2] ^= 1),
        ("a piece that is not known", |file, at| file[at + 1] = 77),
        ("a piece twice", |file, at| file[at + 10] = 1),
        ("a key without a certificate", |file, at| file[at] = 2),
        ("a longer text", |file, _| file[START + 52] = 0xff),
    ];
    for (what, harm) in harms {
        let mut harmed = file.clone();
        harm(&mut harmed, pieces);
        let why = unpacked(&resealed(harmed)).expect_err(what);
        assert!(matches!(why, Flaw::Head | Flaw::Length), "{what}: {why:?}");
    }
    let mut same = file.clone();
    same[length_of_database] ^= 0;
    assert_eq!(resealed(same), file, "the checksums are computed as they are written");
}
