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
 * @property {Spread} ratio of the CPU time of a request to that of (a), in the same round
 * @property {Spread} addedMs to the median time of a request at light load, over (a) in the same round
 * @property {number} cpuMicroseconds for one request on this machine
 * @property {number} busy the share of its core that it used under load
 * @property {string} versions
 */

/** @param {readonly number[]} values */
export function toSpread(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Returns the hardware and software that the figures are from. */
export function describeMachine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? '',
    cores: cpus().length,
    kernel: release(),
    node: process.version,
    redis: firstLine('redis-server', ['--version']).replace(/^.*v=(\S+).*$/, '$1'),
    measuredCore: `${MEASURED_CORE}: all processes of the system that is measured`,
    otherCore: `${OTHER_CORE}: load, Redis, upstream, identity provider`,
  };
}

/**
 * @param {readonly string[]} packages
 * @returns {string}
 */
export function versionsOf(packages) {
  return packages.map((name) => `${name} ${versionOf(name)}`).join(', ');
}

/** @param {string} name of a package or, if it is none, a program */
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
 * @param {object} report
 * @param {readonly Row[]} report.rows
 * @param {ReturnType<typeof import('./goals.mjs').judgeGoals>} report.goals
 * @param {import('../support/rounds.mjs').Quality} report.quality
 * @param {number} report.memoryProbeMs at its best
 * @param {ReturnType<typeof describeMachine>} report.machine
 * @param {{ rounds: number, seconds: number }} report.options
 */
export function toMarkdown({ rows, goals, quality, memoryProbeMs, machine, options }) {
  const head = ['', 'system', 'CPU per request', 'min – max', 'added at light load, ms', 'busy', 'versions'];
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
  const goalTable = [
    ['goal', 'at most', 'measured', ''],
    ['---', '--:', '--:', '---'],
    ...goals.map(({ what, most, value, isMet }) => [
      what,
      String(most),
      value.toFixed(2),
      isMet ? 'met' : 'missed',
    ]),
  ];
  const toLines = (/** @type {string[][]} */ cells) => cells.map((row) => `| ${row.join(' | ')} |`);
  return [
    ...toLines(table),
    '',
    ...toLines(goalTable),
    '',
    `CPU time, user and system, of all processes of a system for one request, as a ratio to (a): the median of`,
    `${options.rounds} rounds with their own processes. Each round has ${options.seconds} s of each system, in short turns.`,
    describeQuality(quality, memoryProbeMs),
    `Core ${machine.measuredCore}. Core ${machine.otherCore}.`,
    `${machine.cpu}, ${machine.cores} cores; Linux ${machine.kernel}; Node ${machine.node}; Redis ${machine.redis}.`,
  ].join('\n');
}
