package spill_test

import (
	"bufio"
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
	"github.com/sluice-go/sluice/spill"
	"github.com/sluice-go/sluice/spill/internal/crash"
)

var kills = flag.Int("spill.kills", 20, "how often TestCrash kills a process under load")

// childFolder is the variable that makes the test binary the process to be killed.
const (
	childFolder     = "SPILL_CRASH_FOLDER"
	childGeneration = "SPILL_CRASH_GENERATION"
	childDrops      = "SPILL_CRASH_DROPS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		generation, err := strconv.ParseUint(os.Getenv(childGeneration), 10, 16)
		if err == nil {
			load := crash.Load
			if os.Getenv(childDrops) != "" {
				load = crash.LoadDropping
			}
			err = load(dir, generation, func() error { return nil })
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
	l := crash.NewLedger()
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
	if err := l.Close(dir); err != nil {
		t.Fatal(err)
	}
	if l.Idle() {
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
	l := crash.NewLedger()
	rng := rand.New(rand.NewPCG(uint64(*kills), 6))
	for generation := range *kills {
		err := killed(dir, l, uint64(generation), rng.IntN(1500), childDrops+"=1")
		if err == nil {
			err = l.Audit(dir)
		}
		if err != nil {
			t.Fatalf("process %d: %v", generation, err)
		}
	}
	if err := l.Close(dir); err != nil {
		t.Fatal(err)
	}
	if l.Idle() || l.Dropped() == 0 {
		t.Error("no record was sent, acknowledged or dropped")
	}
	t.Logf("%d kills: %v", *kills, l)
}

// killed runs a process until its ledger has the given number of lines, kills it,
// and reads the rest.
func killed(dir string, l *crash.Ledger, generation uint64, lines int, env ...string) error {
	l.Restart()
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
	dying := false
	kill := func() {
		if !dying {
			_ = child.Process.Kill()
		}
		dying = true
	}
	defer func() {
		kill()
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()
	}()
	read := bufio.NewScanner(out)
	for n := 0; read.Scan(); n++ {
		if err := l.Enter(read.Text()); err != nil {
			return err
		}
		if read.Text() == "P" && generation%7 == 0 && !dying { // it may have died after it wrote P
			if _, err := spill.OpenDurable[[]byte](dir, nil); err == nil || !strings.Contains(err.Error(), "in use") {
				return fmt.Errorf("a second process could open the queue: %v", err)
			}
		}
		if n >= lines {
			kill()
		}
	}
	return read.Err()
}
