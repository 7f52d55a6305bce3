/** Error pages. */
import { startPage } from './page.ts';
import { addRequestIdCopy } from './request-id-copy.ts';
import { startRetryCountdown } from './retry-countdown.ts';

startPage();
addRequestIdCopy();
startRetryCountdown();
