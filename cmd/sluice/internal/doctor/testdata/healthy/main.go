// Command healthy runs one of the small programs that are registered, and writes two
// dumps of its goroutines to a folder, and a leak profile where the runtime has one:
//
//	healthy name folder time-to-settle
package main

import (
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

const yieldCount = 10 // for the programs of the runtime's tests

var programs = map[string]func(){}

func register(name string, program func()) { programs[name] = program }

func main() {
	if len(os.Args) != 4 {
		for name := range programs {
			println(name)
		}
		return
	}
	leaks := pprof.Lookup("goroutineleak")
	if leaks == nil {
		pprof.NewProfile("goroutineleak") // the programs of the runtime's tests write it
	}
	started := make(chan struct{})
	go observe(os.Args[2], leaks, started)
	os.Stdout, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	programs[os.Args[1]]()
	close(started)
	select {}
}

func observe(folder string, leaks *pprof.Profile, started <-chan struct{}) {
	select {
	case <-started:
	case <-time.After(3 * time.Second): // it runs in the main goroutine
	}
	settle, err := time.ParseDuration(os.Args[3])
	if err != nil {
		panic(err)
	}
	time.Sleep(settle)
	write(filepath.Join(folder, "1.txt"), pprof.Lookup("goroutine"), 2)
	time.Sleep(300 * time.Millisecond)
	write(filepath.Join(folder, "2.txt"), pprof.Lookup("goroutine"), 2)
	if leaks != nil {
		write(filepath.Join(folder, "leaks.txt"), leaks, 1)
	}
	os.Exit(0)
}

func write(name string, p *pprof.Profile, debug int) {
	f, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	if err := p.WriteTo(f, debug); err != nil {
		panic(err)
	}
	f.Close()
}
