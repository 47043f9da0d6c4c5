package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// asCommand makes the test binary run the command itself.
const asCommand = "TWOPROCESSES_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// command returns the command with arguments, which ends with the test at the latest.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stderr = t.Output()
	return cmd
}

// startServer starts a server as a process, and returns its address.
func startServer(t *testing.T) (url string) {
	t.Helper()
	cmd := command(t, "-serve", "-dir", t.TempDir(), "-listen", "127.0.0.1:-1") // -1: a free port
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !found {
		t.Fatalf("the server printed %q, %v", line, err)
	}
	return url
}

// A process sends 100 lines and closes the channel; two others print each line once
// between them, and end.
func TestProcesses(t *testing.T) {
	url := startServer(t)
	var receivers []*exec.Cmd
	for range 2 {
		cmd := command(t, "-recv", "-url", url)
		cmd.Stdout = new(bytes.Buffer)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		receivers = append(receivers, cmd)
	}

	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	sender := command(t, "-send", "-close", "-url", url)
	sender.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	if err := sender.Run(); err != nil {
		t.Fatal(err)
	}

	var got []string
	for i, cmd := range receivers {
		if err := cmd.Wait(); err != nil {
			t.Errorf("receiver %d: %v", i, err)
		}
		output := cmd.Stdout.(*bytes.Buffer).String()
		got = append(got, strings.Split(strings.TrimSpace(output), "\n")...)
	}
	got = slices.DeleteFunc(got, func(line string) bool { return line == "" })
	slices.Sort(lines)
	slices.Sort(got)
	if !slices.Equal(got, lines) {
		t.Errorf("received %q", got)
	}

	// The channel stays closed for later senders.
	late := command(t, "-send", "-url", url)
	late.Stdin, late.Stderr = strings.NewReader("late"), nil
	if err := late.Run(); err == nil {
		t.Error("a closed channel accepted a line")
	}
}

func TestNoMode(t *testing.T) {
	cmd := command(t)
	cmd.Stderr = nil
	if output, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(output), "want -serve") {
		t.Errorf("got %q, %v", output, err)
	}
}
