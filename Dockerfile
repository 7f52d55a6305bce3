# The Cloakroom image: Node, tini, the compiled app and its production packages, without npm, the compiler or tests.
# docs/deploy.md explains how to run it and how to pin its base images.
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${NODE_IMAGE} AS node

FROM ${DEBIAN_IMAGE} AS tini
RUN ["apt-get", "update"]
RUN ["apt-get", "install", "--yes", "--no-install-recommends", "tini"]

# The base of both npm installs. Docker reuses their layers while the lock file is unchanged.
FROM node AS locked
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM locked AS packages
RUN --mount=type=cache,target=/root/.npm ["npm", "ci", "--omit=dev", "--no-audit", "--no-fund"]

FROM locked AS build
RUN --mount=type=cache,target=/root/.npm ["npm", "ci", "--no-audit", "--no-fund"]
COPY tsconfig.json tsconfig.build.json ./
COPY public public
COPY scripts/build-pages.mjs scripts/build-server.mjs scripts/
COPY src src
RUN ["node_modules/.bin/tsc", "--project", "tsconfig.build.json", "--sourceMap", "false"]
RUN ["node", "scripts/build-pages.mjs"]
RUN ["node", "scripts/build-server.mjs"]

# Make all files readable and read-only, whatever the umask of the checkout.
FROM node AS app
WORKDIR /app
COPY package.json ./
COPY views views
COPY --from=build /app/dist dist
RUN ["chmod", "--recursive", "a=rX", "."]

# Start from the base of the Node image and copy only Node, so that no layer contains npm, yarn, corepack or the headers.
FROM ${DEBIAN_IMAGE}
RUN ["useradd", "--uid=1000", "--user-group", "--no-create-home", "--home-dir=/nonexistent", "--shell=/usr/sbin/nologin", "node"]
COPY --from=tini /usr/bin/tini /usr/bin/
COPY --from=node /usr/local/bin/node /usr/local/bin/
# Fail the build if Node needs a library that the Debian image lacks.
RUN ["node", "--version"]
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=app /app ./

ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
EXPOSE 3000
# The user id is numeric, so that Kubernetes can verify that the user is not root.
USER 1000:1000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "dist/cli/health.js"]
# The same options as `npm start` (docs/deploy.md, "systemd").
ENTRYPOINT ["tini", "--", "node", "--max-semi-space-size=4", "--v8-pool-size=1"]
CMD ["dist/main.js"]

# The version comes last, so that a new version does not rebuild other layers. The default VERSION is the version in
# package.json.
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG DEBIAN_IMAGE
# The log and the metrics show both values.
ENV BUILD_VERSION=${VERSION} BUILD_REVISION=${REVISION}
LABEL org.opencontainers.image.title="Cloakroom" \
      org.opencontainers.image.description="A Backend-for-Frontend that keeps OAuth tokens out of the browser" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${DEBIAN_IMAGE}"
