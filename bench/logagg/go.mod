module github.com/sluice-go/sluice/bench/logagg

go 1.26.0

require (
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe
	github.com/leodido/go-syslog/v4 v4.5.0
	github.com/nats-io/nats-server/v2 v2.15.2
	github.com/nats-io/nats.go v1.55.0
	github.com/sluice-go/sluice v0.0.0
	github.com/sluice-go/sluice/bench v0.0.0
	github.com/sluice-go/sluice/jetstream v0.0.0
	github.com/sluice-go/sluice/spill v0.0.0
	github.com/valyala/fastjson v1.6.10
)

require (
	github.com/antithesishq/antithesis-sdk-go v0.8.0-default-no-op // indirect
	github.com/gofrs/flock v0.13.1 // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/minio/highwayhash v1.0.4 // indirect
	github.com/nats-io/jwt/v2 v2.8.2 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace (
	github.com/sluice-go/sluice => ../../
	github.com/sluice-go/sluice/bench => ../
	github.com/sluice-go/sluice/jetstream => ../../jetstream
	github.com/sluice-go/sluice/spill => ../../spill
)
