package sluice_test

import (
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInlined: in a program that imports nothing but the library, the compiler inlines
// the steps of the fast paths: see inlined.go.
func TestInlined(t *testing.T) {
	const program = `package main

import (
	"context"

	"github.com/sluice-go/sluice"
)

func main() {
	c := sluice.NewElastic[[]byte](sluice.Unlimited, &sluice.ElasticOptions[[]byte]{MaxBytes: 9, Overflow: sluice.Reject})
	_ = c.TrySend(nil)
	_, _ = c.TryRecv()
	_, _ = sluice.NewBounded[string](100, nil).Recv(context.Background())
}
`
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-race=false", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	code, err := exec.Command("go", "tool", "objdump", "-s", `internal/segqueue\..*\)\.(Send|send|Recv|recvOrSit|sit|arrive|sendToWaiter|wakeSender|sendSlow|recvSlow|put|take|step)$`, binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	calls := []string{"sync/atomic.(*", "waitq.(*Queue).Waiting", "waitq.(*Wait).Canceled", "engine.MayWait", "park.Parker"}
	if bits.UintSize == 64 { // an atomic word of 64 bits costs too much elsewhere
		calls = append(calls, "waitq.(*Queue).VacantSeat", "waitq.(*Queue).TakeVacantSeat", "waitq.(*Queue).Arrived",
			"waitq.(*Queue).LeaveSeat", "waitq.(*Queue).HandOffSeat",
			"go.shape.string]).Recv(SB)") // Recv parks in the method of the interface
	}
	functions := 0
	for line := range strings.Lines(string(code)) {
		if strings.HasPrefix(line, "TEXT ") {
			functions++
		}
		for _, callee := range calls {
			if strings.Contains(line, "CALL") && strings.Contains(line, callee) {
				t.Errorf("not inlined: %s", strings.TrimSpace(line))
			}
		}
	}
	if functions < 4 {
		t.Errorf("found %d functions, want at least 4, Send and Recv among them:\n%s", functions, code)
	}
}
