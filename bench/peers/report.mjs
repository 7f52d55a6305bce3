import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { MEASURED_CORE, OTHER_CORE } from '../support/cores.mjs';
import { describeQuality } from '../support/rounds.mjs';
import { median } from '../support/statistics.mjs';

/** @typedef {{ median: number, min: number, max: number }} Spread over the rounds */
/**
 * @typedef {object} Row
 * @property {string} name
 * @property {string} title
 * @property {Spread} ratio CPU time per request ÷ that of (a) in the same round
 * @property {Spread} addedMs the median latency at light load, minus that of (a) in the same round
 * @property {number} cpuMicroseconds CPU time per request on this machine
 * @property {number} busy the fraction of its core that the system used under load
 * @property {string} versions
 */

/** @param {readonly number[]} values */
export function toSpread(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Returns a description of the hardware and software used for the run. */
export function describeMachine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? '',
    cores: cpus().length,
    kernel: release(),
    node: process.version,
    redis: firstLine('redis-server', ['--version']).replace(/^(\w+) server v=(\S+).*$/, '$1 $2'),
    measuredCore: `${MEASURED_CORE}: all processes of the measured system`,
    otherCore: `${OTHER_CORE}: load, Redis, service, identity provider`,
  };
}

/**
 * @param {readonly string[]} packages
 * @returns {string}
 */
export function versionsOf(packages) {
  return packages.map((name) => `${name} ${versionOf(name)}`).join(', ');
}

/** @param {string} name the name of a package, or `nginx` */
function versionOf(name) {
  if (name === 'nginx') return firstLine('sh', ['-c', 'nginx -v 2>&1']).replace(/^.*nginx\//, '');
  const path = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return /** @type {{ version: string }} */ (JSON.parse(readFileSync(path, 'utf8'))).version;
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 */
function firstLine(program, args) {
  return execFileSync(program, args, { encoding: 'utf8' }).split('\n', 1)[0] ?? '';
}

/**
 * Returns the report in Markdown.
 * @param {object} report
 * @param {readonly Row[]} report.rows
 * @param {import('../support/rounds.mjs').Quality} report.quality
 * @param {number} report.memoryProbeMs the best time of the memory probe
 * @param {ReturnType<typeof describeMachine>} report.machine
 * @param {{ rounds: number, seconds: number }} report.options
 */
export function toMarkdown({ rows, quality, memoryProbeMs, machine, options }) {
  const head = ['', 'system', 'CPU per request', 'min – max', 'added latency, ms', 'core in use', 'versions'];
  const lines = rows.map((row) => [
    row.name,
    row.title,
    `${row.ratio.median.toFixed(2)} ×`,
    `${row.ratio.min.toFixed(2)} – ${row.ratio.max.toFixed(2)}`,
    `${row.addedMs.median.toFixed(2)} (${row.addedMs.min.toFixed(2)} – ${row.addedMs.max.toFixed(2)})`,
    `${Math.round(row.busy * 100)} %`,
    row.versions,
  ]);
  const table = [head, head.map((_, at) => (at < 2 || at === 6 ? '---' : '--:')), ...lines];
  const toLines = (/** @type {string[][]} */ cells) => cells.map((row) => `| ${row.join(' | ')} |`);
  return [
    ...toLines(table),
    '',
    `CPU per request: CPU time (user and system) across all processes of a system, as a ratio to (a). Median of ${options.rounds} rounds,`,
    `each with new processes and ${options.seconds} s per system in short turns. Added latency: median over (a) at light load.`,
    describeQuality(quality, memoryProbeMs),
    `Core ${machine.measuredCore}. Core ${machine.otherCore}.`,
    `${machine.cpu}, ${machine.cores} cores; Linux ${machine.kernel}; Node ${machine.node}; ${machine.redis}.`,
  ].join('\n');
}
