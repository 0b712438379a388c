//! Mail, by SMTP.
//!
//! The `Message-ID` is the message's id, so that a mail which was sent twice can be known.

use std::time::Duration;

use alerts::message::{Inline, Message, Pages};
use api_types::{MailRoute, MailTls};
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MessageBuilder, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};

use crate::Failure;

/// Whether a text is an address of mail, with or without a name before it.
pub fn is_address(text: &str) -> bool {
    text.parse::<Mailbox>().is_ok()
}

pub async fn send(
    route: &MailRoute,
    secret: Option<&str>,
    message: &Message,
    time: Duration,
) -> Result<(), Failure> {
    let mail = write(route, message)?;
    let transport = transport(route, secret, &message.host, time)?;
    match transport.send(mail).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_timeout() => Err(Failure::Silent(time)),
        Err(error) if error.is_permanent() || error.is_transient() => {
            Err(Failure::Refused(short(&error.to_string())))
        }
        Err(error) => Err(Failure::Unreachable(short(&told(&error)))),
    }
}

fn transport(
    route: &MailRoute,
    secret: Option<&str>,
    host: &str,
    time: Duration,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, Failure> {
    let here = |error: lettre::transport::smtp::Error| Failure::Here(error.to_string());
    let parameters = || {
        let mut builder = TlsParameters::builder(route.server.clone());
        if let Some(roots) = &route.roots {
            let roots = Certificate::from_pem(roots.as_bytes()).map_err(here)?;
            builder = builder.certificate_store(CertificateStore::None).add_root_certificate(roots);
        }
        builder.build_rustls().map_err(here)
    };
    let (tls, port) = match route.tls {
        MailTls::None => (Tls::None, 25),
        MailTls::Starttls => (Tls::Required(parameters()?), 587),
        MailTls::Tls => (Tls::Wrapper(parameters()?), 465),
    };
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&route.server)
        .port(route.port.unwrap_or(port))
        .tls(tls)
        .timeout(Some(time))
        .hello_name(ClientId::Domain(word(host)));
    if let Some(user) = &route.user {
        builder = builder.credentials(Credentials::new(user.clone(), secret.unwrap_or_default().to_owned()));
    }
    Ok(builder.build())
}

fn write(route: &MailRoute, message: &Message) -> Result<lettre::Message, Failure> {
    let address = |text: &str| {
        text.parse::<Mailbox>().map_err(|_| Failure::Here(format!("'{text}' is no address of mail")))
    };
    let host = word(&message.host);
    let head = |builder: MessageBuilder| {
        builder
            .message_id(Some(format!("<{}@{host}>", message.id)))
            .subject(format!("[{host}] {}", line(&message.title)))
    };
    let mut builder = head(lettre::Message::builder().from(address(&route.from)?));
    for to in &route.to {
        builder = builder.to(address(to)?);
    }
    let mail = match &message.pages {
        None => builder.header(ContentType::TEXT_PLAIN).body(format!("{}\n{}", message.title, message.text)),
        Some(pages) => builder.multipart(parts(pages)?),
    };
    let mut mail = mail.map_err(|error| Failure::Here(error.to_string()))?;
    // So that no absence is answered (RFC 3834).
    let name = HeaderName::new_from_ascii_str("Auto-Submitted");
    mail.headers_mut().insert_raw(HeaderValue::new(name, "auto-generated".to_owned()));
    Ok(mail)
}

/// Text, and in its place for who can see it a page with its pictures (RFC 2046, 2387).
fn parts(pages: &Pages) -> Result<MultiPart, Failure> {
    let png: ContentType = "image/png".parse().map_err(|_| Failure::Here("no type of pictures".into()))?;
    let page = MultiPart::related().singlepart(SinglePart::html(pages.html.clone()));
    let page = pages.pictures.iter().fold(page, |page, Inline { name, png: bytes }| {
        page.singlepart(Attachment::new_inline(name.clone()).body(bytes.clone(), png.clone()))
    });
    Ok(MultiPart::alternative().singlepart(SinglePart::plain(pages.text.clone())).multipart(page))
}

/// A name of a host as protocols take it.
fn word(host: &str) -> String {
    let good: String =
        host.chars().filter(|it| it.is_ascii_alphanumeric() || "-.".contains(*it)).take(255).collect();
    if good.is_empty() { "localhost".to_owned() } else { good }
}

fn line(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

/// With what lies behind it.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(error) = behind {
        text.push_str(&format!(": {error}"));
        behind = error.source();
    }
    text
}

fn short(text: &str) -> String {
    line(text).chars().take(300).collect()
}
