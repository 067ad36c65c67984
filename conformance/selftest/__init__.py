"""The suite measured on itself: does it notice known defects, and is it quiet without one?"""
