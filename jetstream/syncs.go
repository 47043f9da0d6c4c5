package jetstream

import "context"

// checkSync finds out whether what the servers confirm survives a power loss.
func (c *core) checkSync(ctx context.Context) {
}
