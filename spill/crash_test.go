package spill

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

var kills = flag.Int("spill.kills", 20, "how often TestCrash kills a process under load")

// childFolder is the variable that makes the test binary the process to be killed.
const (
	childFolder     = "SPILL_CRASH_FOLDER"
	childGeneration = "SPILL_CRASH_GENERATION"
	childDrops      = "SPILL_CRASH_DROPS"
	childPower      = "SPILL_CRASH_POWER"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		generation, err := strconv.ParseUint(os.Getenv(childGeneration), 10, 16)
		if err == nil {
			load, alive := loadKeeping, func() error { return nil }
			if os.Getenv(childDrops) != "" {
				load = loadDropping
			}
			if os.Getenv(childPower) != "" {
				alive = func() error { return powered(dir) }
			}
			err = load(dir, generation, alive)
		}
		fmt.Println("E", err)
		os.Exit(1)
	}
	if dir := os.Getenv(backlogFolder); dir != "" {
		fmt.Println(fillAndDie(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(segmentsFolder); dir != "" {
		fmt.Println(openAndSpill(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestCrash kills processes under load, each at a random line of its ledger, the
// first ones before they have created the queue, and accounts for every record.
func TestCrash(t *testing.T) {
	suite.Needs(t, "processes that are killed")
	dir := t.TempDir() + "/queue"
	l := newLedger()
	rng := rand.New(rand.NewPCG(uint64(*kills), 5))
	for generation := range *kills {
		lines := rng.IntN(1500)
		if generation%5 == 0 {
			lines = generation / 5 % 3 // before the queue is open, or just after
		}
		if err := killed(dir, l, uint64(generation), lines); err != nil {
			t.Fatalf("process %d: %v", generation, err)
		}
	}
	if err := l.close(dir); err != nil {
		t.Fatal(err)
	}
	if l.idle() {
		t.Error("no record was sent or acknowledged")
	}
	t.Logf("%d kills: %v", *kills, l)
}

// TestCrashDropOldest does the same with queues that drop their oldest records. After each kill
// every record is acknowledged, dropped, or left, except for at most as many as the sends that
// were interrupted could drop.
func TestCrashDropOldest(t *testing.T) {
	suite.Needs(t, "processes that are killed")
	dir := t.TempDir() + "/queue"
	l := newLedger()
	rng := rand.New(rand.NewPCG(uint64(*kills), 6))
	for generation := range *kills {
		err := killed(dir, l, uint64(generation), rng.IntN(1500), childDrops+"=1")
		if err == nil {
			err = l.audit(dir)
		}
		if err != nil {
			t.Fatalf("process %d: %v", generation, err)
		}
	}
	if err := l.close(dir); err != nil {
		t.Fatal(err)
	}
	if l.idle() || l.drops() == 0 {
		t.Error("no record was sent, acknowledged or dropped")
	}
	t.Logf("%d kills: %v", *kills, l)
}

// killed runs a process until its ledger has the given number of lines, kills it,
// and reads the rest.
func killed(dir string, l *ledger, generation uint64, lines int, env ...string) error {
	return interrupted(dir, l, generation, lines, nil, env...)
}

// linesOnTheWay exceeds the number of ledger lines that fit into a pipe.
const linesOnTheWay = 20_000

// interrupted is killed if cut is nil. Otherwise it calls cut, which ends the power, and reads until the
// process has noticed.
func interrupted(dir string, l *ledger, generation uint64, lines int, cut func() error, env ...string) error {
	l.restart()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childFolder+"="+dir, fmt.Sprint(childGeneration, "=", generation))
	child.Env = append(child.Env, env...)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	defer func() {
		_ = child.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()
	}()
	over := false
	read := bufio.NewScanner(out)
	for n := 0; read.Scan(); n++ {
		if over && cut != nil && strings.HasPrefix(read.Text(), "E") {
			return nil
		}
		if err := l.enter(read.Text()); err != nil {
			return err
		}
		if read.Text() == "P" && generation%7 == 0 && !over { // it may have died after it wrote P
			if _, err := OpenDurable[[]byte](dir, nil); err == nil || !strings.Contains(err.Error(), "in use") {
				return fmt.Errorf("a second process could open the queue: %v", err)
			}
		}
		switch {
		case n > lines+linesOnTheWay:
			return errors.New("the load continues")
		case n < lines || over:
			continue
		}
		if over = true; cut == nil {
			_ = child.Process.Kill()
		} else if err := cut(); err != nil {
			return err
		}
	}
	return read.Err()
}
