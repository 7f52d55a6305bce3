// The launchers import this module first, so it uses only syntax that every Node with ES modules can parse.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major * 1000 + minor < 20_019) {
  console.error(`Cloakroom needs Node 20.19 or newer; this is Node ${process.versions.node}.`);
  process.exit(1);
}
