# One image with the one binary, for every service of docker-compose.yml.
#
# The base images come from build arguments, so that hosts which cannot pull can name others:
#   docker build --build-arg RUST_IMAGE=… --build-arg BASE_IMAGE=… --tag goodput .
# Nothing here needs BuildKit.
ARG RUST_IMAGE=rust:1.95-slim-bookworm
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${RUST_IMAGE} AS build
WORKDIR /src
COPY . .
# Shown in `rig_build_info`.
ARG GOODPUT_REVISION=unknown
# As in Cargo.toml. `off` and 16 build in less time, and make a larger program.
ARG CARGO_PROFILE_RELEASE_LTO=thin
ARG CARGO_PROFILE_RELEASE_CODEGEN_UNITS=4
RUN GOODPUT_REVISION="${GOODPUT_REVISION}" cargo build --release --locked --package goodput \
 && install -D --strip target/release/goodput /out/goodput

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="goodput" \
      org.opencontainers.image.description="Reproduces metastable failure on real sockets, and tells whether goodput returns after a fault"
COPY --from=build /out/goodput /usr/local/bin/goodput
# A number without a name: nothing is read or written but what is mounted.
USER 10001:10001
# The control plane has a listener and a thread of its own, so this passes while a server is overloaded.
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s --retries=3 CMD ["goodput", "healthcheck"]
ENTRYPOINT ["goodput"]
CMD ["--help"]
