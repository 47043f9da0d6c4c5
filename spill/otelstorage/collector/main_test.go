package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
)

func TestMain(m *testing.M) {
	if os.Getenv("STORAGE") != "" {
		os.Args = []string{"collector", "--config", "config.yaml"}
		main()
		return
	}
	os.Exit(m.Run())
}

// TestKilled kills a Collector whose backend does not answer. The next one delivers what the first
// one has accepted.
func TestKilled(t *testing.T) {
	var works atomic.Bool
	bodies := make(chan string, 1000)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request := plogotlp.NewExportRequest()
		if err != nil || !works.Load() || request.UnmarshalProto(body) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		bodies <- request.Logs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Str()
	}))
	defer backend.Close()
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	receiver := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	storage := t.TempDir() + "/queue"
	start := func() (kill func()) {
		collector := exec.Command(os.Args[0])
		collector.Env = append(os.Environ(), "STORAGE="+storage, "RECEIVER="+receiver, "BACKEND="+backend.URL)
		var output bytes.Buffer
		collector.Stdout, collector.Stderr = &output, &output
		if err := collector.Start(); err != nil {
			t.Fatal(err)
		}
		return func() {
			_ = collector.Process.Kill()
			_ = collector.Wait()
			if t.Failed() {
				t.Log(output.String())
			}
		}
	}
	const logs = 200
	deadline := time.Now().Add(time.Minute)
	kill := start()
	for i := 0; i < logs; {
		body := fmt.Sprintf(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"log %d"}}]}]}]}`, i)
		answer, err := http.Post("http://"+receiver+"/v1/logs", "application/json", strings.NewReader(body))
		if err == nil {
			_ = answer.Body.Close()
		}
		switch {
		case err == nil && answer.StatusCode == http.StatusOK:
			i++
		case time.Now().After(deadline):
			t.Errorf("log %d is not accepted: %v", i, err)
			i = logs
		default:
			time.Sleep(10 * time.Millisecond) // the Collector starts
		}
	}
	kill()
	works.Store(true)
	defer start()()
	missing := map[string]bool{}
	for i := range logs {
		missing[fmt.Sprint("log ", i)] = true
	}
	for len(missing) > 0 && !t.Failed() {
		select {
		case body := <-bodies:
			delete(missing, body)
		case <-time.After(time.Until(deadline)):
			t.Errorf("%d of %d logs are missing", len(missing), logs)
		}
	}
}
