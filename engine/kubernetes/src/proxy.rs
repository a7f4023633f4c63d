//! Which proxy leads to a cluster: the kubeconfig's own, else the one of the environment.

use hyper::Uri;
use kube::config::Kubeconfig;

use crate::KubernetesError;

/// The proxy that the cluster of the current context names.
pub(crate) fn of_kubeconfig(kubeconfig: &Kubeconfig) -> Option<String> {
    let current = kubeconfig.current_context.as_deref()?;
    let context = kubeconfig.contexts.iter().find(|it| it.name == current)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter().find(|it| it.name == context.cluster)?;
    cluster.cluster.as_ref()?.proxy_url.clone().filter(|it| !it.is_empty())
}

/// The proxy to use for a server.
pub(crate) fn choose(own: Option<&str>, server: &Uri) -> Result<Option<Uri>, KubernetesError> {
    let variable = |names: [&str; 2]| {
        names.iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.is_empty()))
    };
    let of_environment = || {
        let no_proxy = variable(["NO_PROXY", "no_proxy"]).unwrap_or_default();
        let host = server.host().unwrap_or_default();
        let names = match server.scheme_str() {
            Some("http") => ["HTTP_PROXY", "http_proxy"],
            _ => ["HTTPS_PROXY", "https_proxy"],
        };
        variable(names).filter(|_| !is_exempt(host, &no_proxy))
    };
    let Some(proxy) = own.map(str::to_owned).or_else(of_environment) else { return Ok(None) };
    let proxy = if proxy.contains("://") { proxy } else { format!("http://{proxy}") };
    let wrong = |error| KubernetesError::Config(format!("invalid proxy address {proxy}: {error}"));
    proxy.parse().map(Some).map_err(wrong)
}

/// Whether the environment's proxy is not for this host, as Go's library decides it.
fn is_exempt(host: &str, no_proxy: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let address: Option<std::net::IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|it| it.is_loopback()) {
        return true;
    }
    no_proxy.split(',').map(str::trim).filter(|it| !it.is_empty()).any(|entry| {
        if let (Some(address), Some((base, bits))) = (address, entry.split_once('/')) {
            return is_within(address, base, bits);
        }
        let entry = entry.strip_prefix('*').unwrap_or(entry);
        match entry.strip_prefix('.') {
            Some(_) => host.ends_with(entry),
            None => entry.is_empty() || host == entry || host.ends_with(&format!(".{entry}")),
        }
    })
}

fn is_within(address: std::net::IpAddr, base: &str, bits: &str) -> bool {
    use std::net::IpAddr::{V4, V6};
    let (Ok(base), Ok(bits)) = (base.parse(), bits.parse::<u32>()) else { return false };
    match (address, base) {
        (V4(address), V4(base)) if bits <= 32 => {
            (u32::from(address) ^ u32::from(base)).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (V6(address), V6(base)) if bits <= 128 => {
            (u128::from(address) ^ u128::from(base)).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environments_proxy_is_not_used_for_hosts_that_are_exempt() {
        for (host, no_proxy, exempt) in [
            ("127.0.0.1", "", true),
            ("localhost", "", true),
            ("[::1]", "", true),
            ("example.com", "", false),
            ("example.com", "example.com", true),
            ("api.example.com", "example.com", true),
            ("api.example.com", ".example.com", true),
            ("example.com", ".example.com", false),
            ("badexample.com", "example.com", false),
            ("10.1.2.3", "10.0.0.0/8", true),
            ("11.1.2.3", "a, 10.0.0.0/8", false),
            ("11.1.2.3", "0.0.0.0/0", true),
            ("example.com", "*", true),
        ] {
            assert_eq!(is_exempt(host, no_proxy), exempt, "{host} with {no_proxy:?}");
        }
    }

    #[test]
    fn a_proxy_of_the_kubeconfig_is_used_even_for_this_machine() {
        let server = "https://127.0.0.1:6443".parse().unwrap();
        let proxy = choose(Some("socks5://127.0.0.1:1080"), &server).unwrap();
        assert_eq!(proxy.unwrap().to_string(), "socks5://127.0.0.1:1080/");
    }
}
