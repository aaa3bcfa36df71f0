// SPDX-License-Identifier: Apache-2.0
// All of wick's public face.
#pragma once

#include "wick/checkpoint.h"
#include "wick/dtype.h"
#include "wick/error.h"
#include "wick/export.h"
#include "wick/kind.h"
#include "wick/limits.h"
#include "wick/source.h"
#include "wick/version.h"
