// Package otelstorage is a storage extension of the OpenTelemetry Collector, for sending queues
// that survive a restart. It stores them in the log of package spill: a queue is read as fast as it
// was written, in little memory, and gives disk space back while it drains.
//
// Its settings have the names and defaults of the file_storage extension's.
package otelstorage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
)

// Config is the configuration of the extension.
type Config struct {
	// Directory is the folder with a folder for each client. The default is
	// /var/lib/otelcol/sluice_storage.
	Directory string `mapstructure:"directory"`
	// CreateDirectory creates Directory if it does not exist, with DirectoryPermissions, an octal
	// number whose default is 0750.
	CreateDirectory      bool   `mapstructure:"create_directory"`
	DirectoryPermissions string `mapstructure:"directory_permissions"`
	// Timeout is how long a client waits for another process that has its folder; 1s by default,
	// and 0 waits as long as the context of the component allows.
	Timeout time.Duration `mapstructure:"timeout"`
	// FSync syncs each batch to the disk before it returns. Without it, which is the default, a batch
	// survives the end of the process, but not always a power failure.
	FSync bool `mapstructure:"fsync"`
	// Recreate opens a damaged store with all records that can be read, and sets damaged files aside.
	// Otherwise it is not opened.
	Recreate bool `mapstructure:"recreate"`
	// MaxSize is the size in bytes that the log of a client may have before new keys are rejected, at
	// least 1 MiB; 0, the default, means no limit.
	MaxSize int64 `mapstructure:"max_size"`
	// Compaction must be nil. It is here for an error that names what is in its place.
	Compaction any `mapstructure:"compaction"`
}

const leastMaxSize = 1 << 20

// Validate returns an error for a configuration with which the extension would not start.
func (c *Config) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch info, err := os.Stat(c.Directory); {
	case c.Directory == "":
		wrong("directory is empty (want the folder to store in)")
	case errors.Is(err, fs.ErrNotExist) && c.CreateDirectory:
	case errors.Is(err, fs.ErrNotExist):
		wrong("directory %s does not exist: create it, or set create_directory", c.Directory)
	case err != nil:
		wrong("directory: %w", err)
	case !info.IsDir():
		wrong("directory %s is a file", c.Directory)
	}
	if _, err := c.permissions(); err != nil {
		errs = append(errs, err)
	}
	if c.Timeout < 0 {
		wrong("timeout %v is negative", c.Timeout)
	}
	if c.MaxSize != 0 && c.MaxSize < leastMaxSize {
		wrong("max_size %d is too small (want 0, for no limit, or at least %d)", c.MaxSize, leastMaxSize)
	}
	if c.Compaction != nil {
		wrong("compaction is not a setting of sluice_storage, which gives space back while it drains: remove it")
	}
	return errors.Join(errs...)
}

func (c *Config) permissions() (fs.FileMode, error) {
	mode, err := strconv.ParseUint(c.DirectoryPermissions, 8, 32)
	if err != nil || fs.FileMode(mode)&fs.ModePerm != fs.FileMode(mode) {
		return 0, fmt.Errorf("directory_permissions %q (want an octal number such as 0750)", c.DirectoryPermissions)
	}
	return fs.FileMode(mode), nil
}

// NewFactory returns the factory of the extension, whose type is sluice_storage.
func NewFactory() extension.Factory {
	return extension.NewFactory(component.MustNewType("sluice_storage"),
		func() component.Config {
			return &Config{
				Directory:            "/var/lib/otelcol/sluice_storage",
				DirectoryPermissions: "0750",
				Timeout:              time.Second,
			}
		},
		func(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
			return &folders{cfg.(*Config), set.Logger}, nil
		},
		component.StabilityLevelAlpha)
}
