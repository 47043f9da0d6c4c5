module github.com/sluice-go/sluice/spill

go 1.25.0

require (
	github.com/sluice-go/sluice v0.0.0
	go.etcd.io/bbolt v1.5.0
)

require golang.org/x/sys v0.45.0 // indirect

replace github.com/sluice-go/sluice => ../
