//! Logs to standard output, and traces to a collector if one is set.

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use porteiro_service::settings::{LogFormat, Settings};
use tracing_subscriber::{EnvFilter, Layer, Registry, layer::SubscriberExt, util::SubscriberInitExt};

use crate::exit::Failure;

/// What must be flushed before the process ends.
#[derive(Debug, Default)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Sends pending traces. Blocks: call it last.
    pub fn flush(self) {
        if let Some(traces) = self.traces {
            let _ = traces.shutdown();
        }
    }
}

pub fn start(settings: &Settings) -> Result<Telemetry, Failure> {
    // The WebAuthn library writes its input to its own log lines.
    let filter = EnvFilter::try_new(format!("{},webauthn_rs_core=off", settings.log_filter))
        .map_err(|error| Failure::refusal(format!("log_filter: is not a valid filter ({error})")))?;
    let logs: Box<dyn Layer<Registry> + Send + Sync> = match settings.log_format {
        LogFormat::Json => Box::new(
            tracing_subscriber::fmt::layer()
                .json()
                .flatten_event(true)
                .with_span_list(false)
                .with_filter(filter),
        ),
        LogFormat::Text => Box::new(tracing_subscriber::fmt::layer().with_filter(filter)),
    };
    let traces = settings.otlp_endpoint.as_deref().map(exporter).transpose()?;
    let tracer = traces.as_ref().map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("porteiro"))
            .with_filter(EnvFilter::new("info,opentelemetry=off,reqwest=off,hyper=off"))
    });
    tracing_subscriber::registry().with(logs).with(tracer).init();
    Ok(Telemetry { traces })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the collector is the operator's own address, not a stranger's"
)]
fn exporter(endpoint: &str) -> Result<SdkTracerProvider, Failure> {
    let refused = |error: String| Failure::refusal(format!("otlp_endpoint: {error}"));
    let endpoint = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    // The exporter runs on its own thread, so its client may block. It is also created there: a blocking client must
    // not be created inside the async runtime.
    let exporter = std::thread::spawn(move || {
        let client = reqwest::blocking::Client::builder()
            .timeout(std::time::Duration::from_secs(5))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| error.to_string())?;
        opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(endpoint)
            .build()
            .map_err(|error| error.to_string())
    })
    .join()
    .map_err(|_| refused("the trace exporter could not be started".into()))?
    .map_err(refused)?;
    let resource = Resource::builder().with_service_name("porteiro").build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}
