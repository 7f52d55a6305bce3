import { syncBuiltinESMExports } from 'node:module';
import v8 from 'node:v8';

/** Loaded before the app, keeps the app from changing V8's options. */

v8.setFlagsFromString = () => {};
syncBuiltinESMExports();
