//! What the engine and a guard say to each other, as bytes.

use std::{ffi::CString, iter};

use super::Lifetime;

/// What a guard is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuardOrder {
    /// Start a command, with the outputs that come with the order; given to a guard without one.
    Start(GuardJob),
    /// Give the command something to read.
    Input(Vec<u8>),
    /// There is no more to read.
    EndInput,
    /// Ask the command, and all below it, to end.
    Stop,
    /// Kill the command, and all below it.
    Kill,
    /// Leave alone what still runs.
    Release,
}

/// What a guard starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuardJob {
    pub(crate) lifetime: Lifetime,
    /// Whether there will be input.
    pub(crate) has_input: bool,
    /// How many files it may open, if not as many as its guard.
    pub(crate) open_files: Option<u64>,
    /// The path of the program.
    pub(crate) program: CString,
    pub(crate) argv: Vec<CString>,
    /// Where; the engine's own directory otherwise.
    pub(crate) dir: Option<CString>,
    /// The whole environment, as `NAME=VALUE`; the engine's own otherwise.
    pub(crate) env: Option<Vec<CString>>,
}

/// What a guard has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardReport {
    /// The command runs, as this process.
    Started(i32),
    /// The command could not be started, for this reason of the system.
    NotStarted(i32),
    /// The main process ended by itself, with this code.
    Exited(i32),
    /// A signal ended the main process.
    Signaled { signal: i32, core_dumped: bool },
    /// Nothing of the command is left, and the guard can start another one.
    Free,
    /// What is left of the command may live; the last report.
    Gone,
    /// A signal has ended the guard itself, or 0 if something else has; what it guarded is being
    /// killed. Said by the launcher.
    Lost(i32),
    /// The launcher has gone, so the guard ends its command.
    Stranded,
}

impl GuardOrder {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (tag, payload) = match self {
            Self::Start(job) => (b'j', job.encode()),
            Self::Input(bytes) => (b'i', bytes.clone()),
            Self::EndInput => (b'e', Vec::new()),
            Self::Stop => (b's', Vec::new()),
            Self::Kill => (b'k', Vec::new()),
            Self::Release => (b'r', Vec::new()),
        };
        let mut bytes = vec![tag];
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    /// The first order in a buffer, once all of it is there, with the number of its bytes.
    ///
    /// Nothing else than an engine of the same build writes these bytes; what cannot be read is
    /// taken for an order to kill.
    pub(super) fn decode(bytes: &[u8]) -> Option<(Self, usize)> {
        let (tag, rest) = bytes.split_first()?;
        let (len, rest) = rest.split_first_chunk::<8>()?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let payload = rest.get(..len)?;
        let order = match tag {
            b'j' => GuardJob::decode(payload).map_or(Self::Kill, Self::Start),
            b'i' => Self::Input(payload.to_vec()),
            b'e' => Self::EndInput,
            b's' => Self::Stop,
            b'r' => Self::Release,
            _ => Self::Kill,
        };
        Some((order, 9 + len))
    }
}

impl GuardJob {
    /// A header, then texts that end with a zero byte, which none of them can contain.
    fn encode(&self) -> Vec<u8> {
        let lifetime = match self.lifetime {
            Lifetime::Task => b't',
            Lifetime::Server => b's',
            Lifetime::Probe => b'p',
            Lifetime::Call => b'c',
        };
        let flags = [self.has_input, self.dir.is_some(), self.env.is_some()].map(u8::from);
        let mut bytes = vec![lifetime];
        bytes.extend(flags);
        bytes.extend(self.open_files.unwrap_or(0).to_le_bytes());
        bytes.extend((self.argv.len() as u64).to_le_bytes());
        let texts = iter::once(&self.program).chain(&self.argv).chain(&self.dir);
        for text in texts.chain(self.env.iter().flatten()) {
            bytes.extend(text.as_bytes_with_nul());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let ([lifetime, has_input, has_dir, has_env], rest) = bytes.split_first_chunk::<4>()?;
        let (open_files, rest) = rest.split_first_chunk::<8>()?;
        let (n_args, texts) = rest.split_first_chunk::<8>()?;
        let lifetime = match lifetime {
            b't' => Lifetime::Task,
            b's' => Lifetime::Server,
            b'p' => Lifetime::Probe,
            b'c' => Lifetime::Call,
            _ => return None,
        };
        let mut texts = texts.strip_suffix(b"\0")?.split(|it| *it == 0).map(CString::new);
        let program = texts.next()?.ok()?;
        let n_args = usize::try_from(u64::from_le_bytes(*n_args)).ok()?;
        let argv = texts.by_ref().take(n_args).collect::<Result<_, _>>().ok()?;
        let dir = if *has_dir != 0 { Some(texts.next()?.ok()?) } else { None };
        let env = texts.collect::<Result<_, _>>().ok()?;
        Some(Self {
            lifetime,
            has_input: *has_input != 0,
            open_files: Some(u64::from_le_bytes(*open_files)).filter(|it| *it != 0),
            program,
            argv,
            dir,
            env: Some(env).filter(|_| *has_env != 0),
        })
    }
}

impl GuardReport {
    /// How many bytes a report has.
    pub(crate) const LEN: usize = 5;

    pub(super) fn encode(self) -> [u8; Self::LEN] {
        let (tag, value) = match self {
            Self::Started(pid) => (b'S', pid),
            Self::NotStarted(errno) => (b'N', errno),
            Self::Exited(code) => (b'E', code),
            Self::Signaled { signal, core_dumped: false } => (b'X', signal),
            Self::Signaled { signal, core_dumped: true } => (b'C', signal),
            Self::Free => (b'F', 0),
            Self::Gone => (b'G', 0),
            Self::Lost(signal) => (b'L', signal),
            Self::Stranded => (b'O', 0),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [tag, a, b, c, d]
    }

    /// The report; nothing for bytes that no guard writes.
    pub(crate) fn decode([tag, value @ ..]: [u8; Self::LEN]) -> Option<Self> {
        let value = i32::from_le_bytes(value);
        Some(match tag {
            b'S' => Self::Started(value),
            b'N' => Self::NotStarted(value),
            b'E' => Self::Exited(value),
            b'X' => Self::Signaled { signal: value, core_dumped: false },
            b'C' => Self::Signaled { signal: value, core_dumped: true },
            b'F' => Self::Free,
            b'G' => Self::Gone,
            b'L' => Self::Lost(value),
            b'O' => Self::Stranded,
            _ => return None,
        })
    }

    /// Why a command has to end that did nothing wrong, if this report says so.
    pub(crate) fn mishap(self) -> Option<String> {
        const OUT_OF_MEMORY: &str = "as the kernel does when memory runs out";
        match self {
            Self::Lost(0) => Some("its guard failed".to_owned()),
            Self::Lost(9) => Some(format!("its guard was killed (signal 9), {OUT_OF_MEMORY}")),
            Self::Lost(signal) => Some(format!("its guard was killed (signal {signal})")),
            Self::Stranded => {
                Some(format!("the process that starts commands was killed, {OUT_OF_MEMORY}"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job() -> impl Strategy<Value = GuardJob> {
        let lifetime = prop::sample::select(vec![
            Lifetime::Task,
            Lifetime::Server,
            Lifetime::Probe,
            Lifetime::Call,
        ]);
        let text = || "[^\0]{0,8}".prop_map(|it| CString::new(it).expect("it has no zero byte"));
        let texts = || prop::collection::vec(text(), 0..4);
        let limits = (any::<bool>(), prop::option::of(1_u64..));
        let place = (prop::option::of(text()), prop::option::of(texts()));
        (lifetime, limits, text(), texts(), place).prop_map(
            |(lifetime, (has_input, open_files), program, argv, (dir, env))| GuardJob {
                lifetime,
                has_input,
                open_files,
                program,
                argv,
                dir,
                env,
            },
        )
    }

    fn order() -> impl Strategy<Value = GuardOrder> {
        prop_oneof![
            job().prop_map(GuardOrder::Start),
            any::<Vec<u8>>().prop_map(GuardOrder::Input),
            Just(GuardOrder::EndInput),
            Just(GuardOrder::Stop),
            Just(GuardOrder::Kill),
            Just(GuardOrder::Release),
        ]
    }

    proptest! {
        #[test]
        fn orders_arrive_as_they_were_sent(order in order(), more in any::<Vec<u8>>()) {
            let bytes = order.encode();
            for end in 0..bytes.len() {
                prop_assert_eq!(GuardOrder::decode(&bytes[..end]), None);
            }
            let longer = [bytes.clone(), more].concat();
            prop_assert_eq!(GuardOrder::decode(&longer), Some((order, bytes.len())));
        }

        #[test]
        fn no_bytes_make_a_guard_panic(bytes in any::<Vec<u8>>()) {
            let _ = GuardOrder::decode(&bytes);
            let _ = GuardJob::decode(&bytes);
        }

        #[test]
        fn reports_arrive_as_they_were_sent(value in any::<i32>(), core_dumped in any::<bool>()) {
            for report in [
                GuardReport::Started(value),
                GuardReport::NotStarted(value),
                GuardReport::Exited(value),
                GuardReport::Signaled { signal: value, core_dumped },
                GuardReport::Free,
                GuardReport::Gone,
                GuardReport::Lost(value),
                GuardReport::Stranded,
            ] {
                prop_assert_eq!(GuardReport::decode(report.encode()), Some(report));
            }
        }
    }
}
