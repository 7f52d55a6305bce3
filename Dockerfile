# Cloakroom's image: Node, tini, the compiled app and the packages that it needs at run time; no npm, no compiler, no tests.
# docs/operations.md tells how to run it, and how to pin what it is made from.
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${NODE_IMAGE} AS node

FROM ${DEBIAN_IMAGE} AS tini
RUN ["apt-get", "update"]
RUN ["apt-get", "install", "--yes", "--no-install-recommends", "tini"]

# What both installs begin with: while the lock file stays as it is, neither is made again.
FROM node AS locked
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM locked AS packages
RUN --mount=type=cache,target=/root/.npm ["npm", "ci", "--omit=dev", "--no-audit", "--no-fund"]

FROM locked AS build
RUN --mount=type=cache,target=/root/.npm ["npm", "ci", "--no-audit", "--no-fund"]
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN ["node_modules/.bin/tsc", "--project", "tsconfig.build.json", "--sourceMap", "false"]

# Whatever umask the files were checked out with: everybody may read them, and nobody may change them.
FROM node AS app
WORKDIR /app
COPY package.json ./
COPY views views
COPY public public
COPY --from=build /app/dist dist
RUN ["chmod", "--recursive", "a=rX", "."]

# On what the Node image itself is made from, since what is deleted in a layer stays in the one below: npm, yarn, corepack and
# the headers are not in the image at all.
FROM ${DEBIAN_IMAGE}
RUN ["useradd", "--uid=1000", "--user-group", "--no-create-home", "--home-dir=/nonexistent", "--shell=/usr/sbin/nologin", "node"]
COPY --from=tini /usr/bin/tini /usr/bin/
COPY --from=node /usr/local/bin/node /usr/local/bin/
# Fails here and now where Node needs a library that Debian's image does not have.
RUN ["node", "--version"]
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=app /app ./

ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
EXPOSE 3000
# By number, so that Kubernetes can tell that it is not root.
USER 1000:1000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "dist/cli/health.js"]
# The options: docs/operations.md, "Without a container".
ENTRYPOINT ["tini", "--", "node", "--max-semi-space-size=8", "--no-allocation-site-pretenuring"]
CMD ["dist/main.js"]

# Last, so that a new version makes no layer anew. It is that of package.json.
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG DEBIAN_IMAGE
# What the log and the metrics say of it.
ENV BUILD_VERSION=${VERSION} BUILD_REVISION=${REVISION}
LABEL org.opencontainers.image.title="Cloakroom" \
      org.opencontainers.image.description="A Backend-for-Frontend that keeps OAuth tokens out of the browser" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${DEBIAN_IMAGE}"
