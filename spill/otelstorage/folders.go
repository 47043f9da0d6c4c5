package otelstorage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// folders is the extension: a folder with a folder for each client.
type folders struct {
	config *Config
	logger *zap.Logger
}

var _ storage.Extension = (*folders)(nil)

// Start creates the directory, if it is to be created.
func (f *folders) Start(context.Context, component.Host) error {
	if !f.config.CreateDirectory {
		return nil
	}
	mode, err := f.config.permissions()
	if err != nil {
		return err
	}
	return os.MkdirAll(f.config.Directory, mode)
}

// Shutdown does nothing: components close their clients, some of them after this.
func (*folders) Shutdown(context.Context) error { return nil }

// GetClient opens the store of a component. Only one client at a time can have it.
func (f *folders) GetClient(ctx context.Context, kind component.Kind, id component.ID, name string) (storage.Client, error) {
	dir := filepath.Join(f.config.Directory, folderName(kind, id, name))
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, as the file_storage extension makes them: drain it with that extension, or choose another directory", dir)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	c := &client{disk: disk.Folder{Dir: dir, NoSync: !f.config.FSync}, config: f.config, logger: f.logger}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// folderName returns a name for a client, of characters that each file system allows. Different
// clients have different names.
func folderName(kind component.Kind, id component.ID, name string) string {
	full := strings.ToLower(kind.String()) + "_" + id.Type().String() + "_" + id.Name()
	if name != "" {
		full += "_" + name
	}
	var b strings.Builder
	for _, r := range full {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "~%04X", r)
		}
	}
	if b.Len() <= 255 {
		return b.String()
	}
	sum := sha256.Sum256([]byte(full))
	return hex.EncodeToString(sum[:])
}
