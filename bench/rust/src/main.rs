//! Measures channels of Rust: kanal, crossbeam, crossfire and flume between threads, and
//! those of them that have an async side between tasks of tokio. Usage:
//!
//!     channels SLOTS SENDERS RECEIVERS WORKERS MILLISECONDS
//!
//! SLOTS is a number, or "-" for no limit; WORKERS is the number of tokio's threads; one
//! measurement takes about MILLISECONDS. The senders send u64 values one by one, the receivers
//! receive one by one until the senders have left. Each line of the output is a name and
//! nanoseconds per value. The program ends with an error if a value was lost or duplicated.

use std::future::Future;
use std::time::{Duration, Instant};

/// A Load says who sends how much to whom.
#[derive(Clone, Copy)]
struct Load {
    slots: Option<usize>,
    senders: u64,
    receivers: u64,
    workers: usize,
    values: u64,
}

/// A Tally is what a receiver got.
#[derive(Clone, Copy, Default)]
struct Tally {
    count: u64,
    sum: u64,
}

impl Load {
    /// The values of a sender.
    fn share(&self, sender: u64) -> std::ops::Range<u64> {
        self.values * sender / self.senders..self.values * (sender + 1) / self.senders
    }

    fn check(&self, name: &str, tallies: impl Iterator<Item = Tally>) {
        let (mut count, mut sum) = (0, 0u64);
        for t in tallies {
            count += t.count;
            sum = sum.wrapping_add(t.sum);
        }
        let want = (0..self.values).fold(0u64, u64::wrapping_add);
        assert!(count == self.values && sum == want, "{name}: {count} of {} values", self.values);
    }

    /// Runs the load between threads. Their start is a part of the time, as in tasks.
    fn threads<S, R>(
        &self, name: &str, (tx, rx): (S, R), send: fn(&S, u64) -> bool, recv: fn(&R) -> Option<u64>,
    ) -> Duration
    where S: Clone + Send + 'static, R: Clone + Send + 'static {
        let began = Instant::now();
        let mut senders = vec![];
        for i in 0..self.senders {
            let (tx, share) = (tx.clone(), self.share(i));
            senders.push(std::thread::spawn(move || {
                for v in share {
                    assert!(send(&tx, v), "closed");
                }
            }));
        }
        let mut receivers = vec![];
        for _ in 0..self.receivers {
            let rx = rx.clone();
            receivers.push(std::thread::spawn(move || {
                let mut t = Tally::default();
                while let Some(v) = recv(&rx) {
                    t.count += 1;
                    t.sum = t.sum.wrapping_add(v);
                }
                t
            }));
        }
        drop((tx, rx));
        senders.into_iter().for_each(|s| s.join().unwrap());
        let tallies: Vec<Tally> = receivers.into_iter().map(|r| r.join().unwrap()).collect();
        let elapsed = began.elapsed();
        self.check(name, tallies.into_iter());
        elapsed
    }

    /// Runs the load between tasks. send and recv are the whole loops of one task.
    fn tasks<S, R, SF, RF>(
        &self, name: &str, (tx, rx): (S, R),
        send: fn(S, std::ops::Range<u64>) -> SF, recv: fn(R) -> RF,
    ) -> Duration
    where
        S: Clone + Send + 'static, R: Clone + Send + 'static,
        SF: Future<Output = ()> + Send + 'static, RF: Future<Output = Tally> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(self.workers).build().unwrap();
        let load = *self;
        // The load starts from a task: a task from outside is placed in another way.
        let (elapsed, tallies) = runtime.block_on(async move {
            tokio::spawn(async move {
                let began = Instant::now();
                let senders: Vec<_> = (0..load.senders).map(|i| tokio::spawn(send(tx.clone(), load.share(i)))).collect();
                let receivers: Vec<_> = (0..load.receivers).map(|_| tokio::spawn(recv(rx.clone()))).collect();
                drop((tx, rx));
                for s in senders {
                    s.await.unwrap();
                }
                let mut tallies = vec![];
                for r in receivers {
                    tallies.push(r.await.unwrap());
                }
                (began.elapsed(), tallies)
            }).await.unwrap()
        });
        self.check(name, tallies.into_iter());
        elapsed
    }
}

/// The loops of tasks, for channels whose methods are named $send and $recv.
macro_rules! tasks {
    ($load:expr, $name:expr, $ends:expr, $send:ident, $recv:ident) => {
        $load.tasks(
            $name, $ends,
            |tx, share| async move {
                for v in share {
                    assert!(tx.$send(v).await.is_ok(), "closed");
                }
            },
            |rx| async move {
                let mut t = Tally::default();
                while let Ok(v) = rx.$recv().await {
                    t.count += 1;
                    t.sum = t.sum.wrapping_add(v);
                }
                t
            },
        )
    };
}

macro_rules! threads {
    ($load:expr, $name:expr, $ends:expr) => {
        $load.threads($name, $ends, |tx, v| tx.send(v).is_ok(), |rx| rx.recv().ok())
    };
}

/// Measures a contender: about as many values as it takes in the given time.
fn measure(name: &str, mut load: Load, time: Duration, run: impl Fn(&Load) -> Duration) {
    load.values = 1000;
    let mut elapsed = run(&load);
    while elapsed < time / 4 {
        load.values *= 4;
        elapsed = run(&load);
    }
    load.values = (load.values as f64 * time.as_secs_f64() / elapsed.as_secs_f64()).max(1000.0) as u64;
    println!("{name}\t{:.1}", run(&load).as_nanos() as f64 / load.values as f64);
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [slots, senders, receivers, workers, milliseconds] = &args[..] else {
        eprintln!("usage: channels SLOTS|- SENDERS RECEIVERS WORKERS MILLISECONDS");
        std::process::exit(2);
    };
    let number = |s: &String| s.parse::<u64>().unwrap_or_else(|_| {
        eprintln!("channels: invalid number {s:?}");
        std::process::exit(2)
    });
    let load = Load {
        slots: if slots == "-" { None } else { Some(number(slots) as usize) },
        senders: number(senders), receivers: number(receivers), workers: number(workers) as usize, values: 0,
    };
    let time = Duration::from_millis(number(milliseconds));

    measure("kanal", load, time, |l| match l.slots {
        None => threads!(l, "kanal", kanal::unbounded()),
        Some(n) => threads!(l, "kanal", kanal::bounded(n)),
    });
    measure("crossbeam", load, time, |l| match l.slots {
        None => threads!(l, "crossbeam", crossbeam_channel::unbounded()),
        Some(n) => threads!(l, "crossbeam", crossbeam_channel::bounded(n)),
    });
    measure("flume", load, time, |l| match l.slots {
        None => threads!(l, "flume", flume::unbounded()),
        Some(n) => threads!(l, "flume", flume::bounded(n)),
    });
    measure("kanal async", load, time, |l| match l.slots {
        None => tasks!(l, "kanal async", kanal::unbounded_async(), send, recv),
        Some(n) => tasks!(l, "kanal async", kanal::bounded_async(n), send, recv),
    });
    measure("flume async", load, time, |l| match l.slots {
        None => tasks!(l, "flume async", flume::unbounded(), send_async, recv_async),
        Some(n) => tasks!(l, "flume async", flume::bounded(n), send_async, recv_async),
    });
    if load.slots == Some(0) {
        return; // crossfire has at least one slot
    }
    measure("crossfire", load, time, |l| match l.slots {
        None => threads!(l, "crossfire", crossfire::mpmc::unbounded_blocking()),
        Some(n) => threads!(l, "crossfire", crossfire::mpmc::bounded_blocking(n)),
    });
    measure("crossfire async", load, time, |l| match l.slots {
        // A send never waits, so crossfire's is no future.
        None => l.tasks(
            "crossfire async", crossfire::mpmc::unbounded_async(),
            |tx, share| async move {
                for v in share {
                    assert!(tx.send(v).is_ok(), "closed");
                }
            },
            |rx| async move {
                let mut t = Tally::default();
                while let Ok(v) = rx.recv().await {
                    t.count += 1;
                    t.sum = t.sum.wrapping_add(v);
                }
                t
            },
        ),
        Some(n) => tasks!(l, "crossfire async", crossfire::mpmc::bounded_async(n), send, recv),
    });
}
