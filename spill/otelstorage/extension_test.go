package otelstorage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// extensionOf returns a started extension with the default configuration and some other settings.
func extensionOf(t *testing.T, settings map[string]any) (storage.Extension, error) {
	t.Helper()
	factory := NewFactory()
	config := factory.CreateDefaultConfig().(*Config)
	if err := componenttest.CheckConfigStruct(config); err != nil {
		t.Fatal(err)
	}
	if err := confmap.NewFromStringMap(settings).Unmarshal(config); err != nil {
		return nil, err
	}
	if err := config.Validate(); err != nil {
		return nil, err
	}
	e, err := factory.Create(ctx, extensiontest.NewNopSettings(factory.Type()), config)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := e.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return e.(storage.Extension), e.Start(ctx, componenttest.NewNopHost())
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		settings map[string]any
		want     string // part of the error
	}{
		{map[string]any{"directory": dir}, ""},
		{map[string]any{"directory": dir, "fsync": true, "timeout": "10s", "recreate": true, "max_size": 1 << 30}, ""},
		{map[string]any{"directory": filepath.Join(dir, "new", "one"), "create_directory": true}, ""},
		{map[string]any{"directory": filepath.Join(dir, "none")}, "create_directory"},
		{map[string]any{"directory": ""}, "directory is empty"},
		{map[string]any{"directory": file}, "is a file"},
		{map[string]any{"directory": filepath.Join(file, "below"), "create_directory": true}, "not a directory"},
		{map[string]any{"directory": dir, "directory_permissions": "0999"}, `"0999" (want an octal number`},
		{map[string]any{"directory": dir, "directory_permissions": "10000"}, "want an octal number"},
		{map[string]any{"directory": dir, "timeout": "-1s"}, "negative"},
		{map[string]any{"directory": dir, "max_size": 100}, "max_size 100"},
		{map[string]any{"directory": dir, "compaction": map[string]any{"on_start": true}}, "compaction is not a setting"},
		{map[string]any{"directory": dir, "compact_on_start": true}, "compact_on_start"},
	} {
		_, err := extensionOf(t, test.settings)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%v: %v, want %q", test.settings, err, test.want)
		}
	}
}

// TestClients opens clients of different components in one directory.
func TestClients(t *testing.T) {
	dir := t.TempDir()
	e, err := extensionOf(t, map[string]any{"directory": dir, "timeout": "300ms"})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ä", 200)
	var clients []storage.Client
	for i, id := range []struct {
		kind     component.Kind
		id, name string
	}{
		{component.KindExporter, "otlp", "logs"},
		{component.KindExporter, "otlp", "traces"},
		{component.KindExporter, "otlp/a", ""},
		{component.KindReceiver, "otlp/a", ""},
		{component.KindReceiver, "otlp/a/b", ""},
		{component.KindReceiver, "otlp/a", "b/~"},
		{component.KindReceiver, "otlp/a", "b~002F~"},
		{component.KindReceiver, "otlp/" + long, ""},
		{component.KindReceiver, "otlp/" + long + "x", ""},
	} {
		var of component.ID
		if err := of.UnmarshalText([]byte(id.id)); err != nil {
			t.Fatal(err)
		}
		c, err := e.GetClient(ctx, id.kind, of, id.name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Get(ctx, "key"); got != nil || err != nil {
			t.Errorf("client %d has the key of another one: %q, %v", i, got, err)
		}
		if err := c.Set(ctx, "key", []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	otlp := component.MustNewID("otlp")
	if _, err := e.GetClient(ctx, component.KindExporter, otlp, "logs"); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second client of a component: %v", err)
	}
	// A component that starts again waits for the client of its predecessor.
	patient, err := extensionOf(t, map[string]any{"directory": dir, "timeout": "0s"})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(time.Millisecond)
		_ = clients[0].Close(ctx)
	}()
	c, err := patient.GetClient(ctx, component.KindExporter, otlp, "logs")
	if err != nil {
		t.Fatal(err)
	}
	clients[0] = c
	for i, c := range clients {
		if got, err := c.Get(ctx, "key"); len(got) != 1 || int(got[0]) != i || err != nil {
			t.Errorf("client %d: %v, %v", i, got, err)
		}
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	// What file_storage has stored is not passed over.
	if err := os.WriteFile(filepath.Join(dir, "exporter_otlp__metrics"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.GetClient(ctx, component.KindExporter, otlp, "metrics"); err == nil || !strings.Contains(err.Error(), "file_storage") {
		t.Error(err)
	}
}
